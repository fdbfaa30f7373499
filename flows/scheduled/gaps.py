"""What a run has no reply to: which model, why, how often, since when, and the command that continues."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from biasgrid.tasks.connectors.api import ProviderAway, class_word
from biasgrid.tasks.connectors.rereading import CAME
from biasgrid.tasks.report.figures import moment
from biasgrid.warehouse.storage.lake import Lake

AWAY, STOPPED, UNANSWERED, OVER_COST = "Away", "Stopped", "Unanswered", "OverCost"
"""States of a shard with cases without a reply: its provider may come back; a key or quota stops a model; single
requests failed; a cap was reached."""
ASKED: Final = (AWAY, STOPPED, UNANSWERED, OVER_COST)
PASSING: Final = ("away", "throttled")
"""Classes of errors that time may mend."""
FINAL: Final = ("key rejected", "quota", "unknown model", "no API", "broken connector")
"""Those that it does not: a model is stopped, and nothing is asked again by itself."""
NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True)
class Gap:
    """Cases of one model without a reply, for errors of one class."""

    model: str
    word: str
    """Class of the errors."""
    cases: int
    planned: int
    """Of the model."""
    since: datetime | None
    """UTC, of the first failure after the last reply; None if nothing was sent."""
    why: str
    """The last error's message."""

    def __str__(self) -> str:
        since = f" since {self.since:%Y-%m-%d %H:%M} UTC" if self.since else ""
        reason = f" ({self.why.removeprefix(f'`{self.model}`: ')})" if self.why else ""
        return f"{self.model}: {self.word} × {self.cases:,} of {self.planned:,}{since}{reason}"


def read_gaps(
    lake: Lake, run_id: str, models: Iterable[str] | None = None, cells: Sequence[str] | None = None
) -> list[Gap]:
    """The gaps of a run, or of some of its models or cells, most cases first."""
    cases = lake.scan("cases", run_id).select("case_id", "cell_id", "model")
    replies = lake.scan("responses", run_id).filter(pl.col("purpose") == "subject")
    if models is not None:
        named = pl.col("model").is_in(list(models))
        cases, replies = cases.filter(named), replies.filter(named)
    if cells:
        named = pl.col("cell_id").is_in(list(cells))
        cases, replies = cases.filter(named), replies.filter(named)
    found = pl.collect_all([cases, replies.filter(CAME), replies.filter(~CAME)])
    return _gaps(*(frame.unique("case_id") if at == 0 else frame for at, frame in enumerate(found)))


def _gaps(cases: pl.DataFrame, answered: pl.DataFrame, failed: pl.DataFrame) -> list[Gap]:
    unanswered = cases.join(answered, on="case_id", how="anti")
    if unanswered.is_empty():
        return []
    last_reply = answered.group_by("model").agg(pl.col("received_at").max().alias("replied_at"))
    open_errors = failed.join(unanswered, on="case_id", how="semi").join(last_reply, on="model", how="left")
    later = pl.col("replied_at").is_null() | (pl.col("received_at") > pl.col("replied_at"))
    since = open_errors.filter(later).group_by("model").agg(pl.col("received_at").min().alias("since"))
    newest = open_errors.sort("received_at").unique("case_id", keep="last", maintain_order=True)
    reasons = unanswered.join(newest.select("case_id", "error_class", "error_message"), on="case_id", how="left")
    # the error of a request shows more than that of those that were not sent because of it
    reasons = reasons.sort(pl.col("error_class") == ProviderAway.__name__, descending=True, maintain_order=True)
    words = pl.col("error_class").fill_null(NOT_ASKED).map_elements(class_word, pl.String).alias("word")
    counted = reasons.group_by("model", words).agg(pl.len().alias("cases"), pl.col("error_message").last())
    planned = cases.group_by("model").agg(pl.len().alias("planned"))
    rows = counted.join(planned, on="model").join(since, on="model", how="left").sort("cases", descending=True)
    return [
        Gap(row["model"], row["word"], row["cases"], row["planned"], row["since"], row["error_message"] or "")
        for row in rows.iter_rows(named=True)
    ]


def gap_rows(gaps: Iterable[Gap]) -> list[tuple[str, ...]]:
    """A row for each: model, error, cases, since, reason."""
    return [(gap.model, gap.word, f"{gap.cases:,} of {gap.planned:,}", moment(gap.since), gap.why) for gap in gaps]


def describe_gaps(gaps: Sequence[Gap], most: int = 5) -> str:
    """The gaps in words, on one line."""
    more = [f"and {len(gaps) - most} more"] if len(gaps) > most else []
    return "; ".join([*map(str, gaps[:most]), *more])


def shard_state(done: Sequence[str], gaps: Sequence[Gap], command: str, coverage: float = 1.0) -> State[Any]:
    """How a shard ended: Completed only if every case has its reply. A provider is worth waiting for where a model
    has fewer than the share `coverage` of its replies."""
    if not gaps:
        return Completed(message="; ".join(done))
    words = {gap.word for gap in gaps}
    if not any(gap.word in PASSING and gap.cases > (1 - coverage) * gap.planned for gap in gaps):
        words -= set(PASSING)
    names = ((AWAY, set(PASSING)), (STOPPED, set(FINAL)), (OVER_COST, {"cap"}))
    name = next((name for name, own in names if words & own), UNANSWERED)
    return Failed(name=name, message=f"{describe_gaps(gaps)}; {command}")
