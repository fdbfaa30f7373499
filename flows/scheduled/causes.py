"""What a night is alarmed about: each cause once, until it is over."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from biasgrid.flows.scheduled.gaps import Gap
from biasgrid.flows.terminal.markdown import cell
from biasgrid.tasks.report.figures import moment, share
from biasgrid.warehouse.hashing import content_hash

BROKEN, WORSE, INCOMPLETE, COSTLY, BETTER = "broken", "worse", "incomplete", "costly", "better"
SEVERITIES: Final = (BROKEN, WORSE, INCOMPLETE, COSTLY, BETTER)
"""Of alarms, most severe first."""
STEP: Final = 0.05
"""Further loss of a rate that is a cause of its own."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason for an alarm."""

    severity: str
    key: str
    """The same in each night in which it lasts."""
    about: str
    """For a subject, such as `alike of a/x`."""
    since: str
    line: str = ""
    """For a body: effect, interval and reason."""
    rate: float | None = None
    """Share of a requirement that passes."""
    was: float | None = None
    """The same before it got worse."""
    model: str = ""
    """The model that it is about; empty for none."""

    def as_record(self) -> dict[str, Any]:
        """What is kept until it is over, where people see it."""
        kept = {name: value for name, value in asdict(self).items() if name != "line"}
        return kept | {"about": cell(self.about)}


def key_of(*about: str) -> str:
    return content_hash(about)[:12]


def worse_cause(change: Mapping[str, Any], since: datetime | None, note: str = "") -> Cause:
    """The cause of a row of `EarlierRuns.worse`; `note`: what asking again has shown."""
    about = f"{change['requirement']} of {change['model']}"
    line = f"{about} {describe_effect(change)}{f'; {note}' if note else ''}; since {moment(since)}"
    key, model = key_of(WORSE, change["requirement"], change["model"]), change["model"]
    return Cause(WORSE, key, about, moment(since), line, change["rate"], change["earlier_rate"], model)


def describe_effect(change: Mapping[str, Any]) -> str:
    """Rates, their difference with its interval, and how sure it is."""
    low, high = change.get("low"), change.get("high")
    interval = "" if low is None or high is None else f" (95%: {_points(low)} to {_points(high)})"
    q_value = change["q_value"]
    sure = "" if q_value is None else f", q = {q_value:.2g}"
    rates = f"passes {share(change['rate'])}, {share(change['earlier_rate'])} before"
    return f"{rates}: {_points(change['rate'] - change['earlier_rate'])} points{interval}{sure}"


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f}".replace("-", "−")


def unmet_cause(finding: Mapping[str, Any], decision: str, since: datetime | None) -> Cause:
    """The cause of a finding that the gate of a night does not let pass."""
    about = f"{finding['requirement']} of {finding['model']} is {decision}"
    rates = f"passes {share(finding['rate'])}, needs {share(finding['tolerance'])}"
    interval = f"95%: {share(finding['interval_low'])} to {share(finding['interval_high'])}"
    key = key_of("not met", finding["requirement"], finding["model"])
    return Cause(WORSE, key, about, moment(since), f"{about}: {rates} ({interval})", finding["rate"])


def gap_cause(gap: Gap, since: datetime | None) -> Cause:
    """The cause of a model without replies."""
    about = f"{gap.model} {gap.word} × {gap.cases:,}"
    return Cause(
        INCOMPLETE, key_of(gap.model, gap.word), about, moment(gap.since or since), str(gap), model=gap.model
    )


def other_cause(severity: str, about: str, since: datetime | None, line: str = "", key: str = "") -> Cause:
    """One without a model; `key` where `about` changes from night to night."""
    return Cause(severity, key_of(severity, key or about), about, moment(since), line or about)


def new_causes(found: Iterable[Cause], known: Mapping[str, Mapping[str, Any]]) -> Iterator[Cause]:
    """Those that were not reported yet, or whose rate has fallen further since."""
    for cause in found:
        before = known.get(cause.key)
        fell = before and cause.rate is not None and before.get("rate") is not None
        if not before or (fell and cause.rate <= before["rate"] - STEP):
            yield cause


def causes_over(
    known: Mapping[str, Mapping[str, Any]],
    found: Sequence[Cause],
    changes: Iterable[Mapping[str, Any]],
    complete: Collection[tuple[str, str]],
) -> list[dict[str, Any]]:
    """Records of `known` that this night shows to be over: a rate is back, a finding is met, a model answers.

    `changes`: rows of `EarlierRuns.changes`; `complete`: (requirement, model) with enough replies."""
    lasting = {cause.key for cause in found}
    by_key = {key_of(WORSE, row["requirement"], row["model"]): row for row in changes}
    judged, models = {key_of("not met", *pair) for pair in complete}, {model for _, model in complete}
    over = []
    for key, record in known.items():
        row = by_key.get(key)
        is_back = row is not None and (row["finding"] == "better" or row["rate"] >= (record.get("was") or 2.0))
        if record.get("was") is not None:
            rate = f": passes {share(row['rate'])}" if row else ""
            over += [{**record, "about": f"{record['about']}{rate}"}] if is_back else []
        elif key not in lasting and (
            key in judged if record["severity"] == WORSE else record.get("model", "") in ("", *models)
        ):
            over.append(dict(record))
    return over
