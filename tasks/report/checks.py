"""Checks of each model, one row per check for every kind of run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl

from biasgrid.tasks.report.figures import (
    describe_needed,
    describe_worst,
    escape_name,
    format_measure,
    join_parts,
    share,
)
from biasgrid.tasks.report.kinds.report_kind import report_kind
from biasgrid.tasks.report.verdicts import VERDICTS, State
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run

Gate = Literal["point", "decided"]
"""By what a check is met: its point rate, as LangBiTe has it, or its whole interval."""


@dataclass(frozen=True, slots=True)
class Check:
    """One measure of one model, and its threshold."""

    model: str
    topic: str
    """The concern, test, language or setting it belongs to."""
    name: str
    language: str
    by_point: State
    decided: State
    finding: str
    """In the words of its mart, such as `biased`."""
    counted: int
    """Of `total`, how many are `counts`, such as tests that pass."""
    total: int
    counts: str
    measure: str
    unit: Literal["share", "score", "points"]
    value: float | None
    low: float | None
    high: float | None
    """95% interval of `value`."""
    bar: float | None
    bar_name: str
    """What `value` is held against, such as the tolerance; empty where there is nothing."""
    lost: Mapping[str, int]
    """What became of those that are not in `total`."""
    needed: int | None
    """Templates that would decide it."""
    bound: float | None = None
    """What `upper_end` must be below, where nothing is shown; none: it is never met."""
    upper_end: float | None = None
    templates: int | None = None
    """How many were counted, in the worst language."""
    refused: float | None = None
    """Share of its replies."""
    replies: int = 0
    why: str | None = None
    """Why it was not evaluated."""
    among: Mapping[str, Any] | None = None
    """Of three groups or more: `rates` by group in the file's order, and what `describe_worst` takes."""

    def state(self, gate: Gate) -> State:
        return self.by_point if gate == "point" else self.decided

    @property
    def words(self) -> str:
        """The verdict: a mart's own word for it, and the point rate's where it differs."""
        own = self.finding if self.finding not in VERDICTS else ""
        by_point = "" if self.by_point == self.decided else f"{VERDICTS[self.by_point].word} by the point rate"
        return ", ".join(part for part in (VERDICTS[self.decided].word, own, by_point) if part)

    @property
    def title(self) -> str:
        return f"{self.name} · {self.language}"

    @property
    def summary(self) -> str:
        """All numbers in one line."""
        summary = [
            f"{self.counted:,} of {self.total:,} {self.counts}",
            f"{self.measure} {format_measure(self.value, self.unit)} (95% interval {self.interval})",
            f"{self.bar_name} {format_measure(self.bar, self.unit)}" if self.bar_name else "",
            ", ".join(f"{count:,} {what}" for what, count in self.lost.items() if count),
            self.groups,
            describe_needed(self.needed),
            self.proof,
        ]
        return join_parts(summary)

    @property
    def groups(self) -> str:
        """Each group's share, where there are three or more, and the one at the greatest disadvantage."""
        if self.among is None:
            return ""
        rates = ", ".join(f"{escape_name(one['name'])} {share(one['rate'])}" for one in self.among["rates"])
        worst = describe_worst(self.among)
        return join_parts([f"by group {rates}", f"worst off: {worst}" if worst else ""])

    @property
    def proof(self) -> str:
        """How far the interval reaches, and the bound, where the run's file states one."""
        if self.bound is None or self.upper_end is None:
            return ""
        return f"up to {format_measure(self.upper_end, self.unit)}, bound {format_measure(self.bound, self.unit)}"

    @property
    def interval(self) -> str:
        if self.low is None or self.high is None:
            return "none"
        low, high = (format_measure(end, self.unit) for end in (self.low, self.high))
        return f"{low.removesuffix(' points')} to {high}"


@dataclass(frozen=True, slots=True)
class Harm:
    """A group that fares worse with a model."""

    group: str
    amount: float | None = None
    """How much, as the text of the kind has it: points, a share in percent, or a count."""
    other: str | None = None
    """The attribute, the group it is compared with, or how many attacks there are."""
    language: str | None = None
    """Of the attribute, where each language has its own."""

    def describe_other(self, language: str) -> str | None:
        """Whom they are compared with; attributes in another language with its name."""
        is_foreign = self.language not in (None, language)
        return f"{self.other}, {self.language}" if is_foreign else self.other


def distinct_harms(harms: Iterable[Harm], language: str) -> list[Harm]:
    """Each harm once: of attributes by language, the one in this language, else the first."""
    found: dict[tuple[str, str | None], Harm] = {}
    for one in harms:
        key = (one.group, None if one.language else one.other)
        if key not in found or one.language == language:
            found[key] = one
    return [*found.values()]


def find_harms(lake: Lake, run: Run) -> dict[str, list[Harm]]:
    """By model, the largest first."""
    found: dict[str, list[Harm]] = {}
    for model, *harm in query(lake, report_kind(run.kind).harms, [run.run_id]).iter_rows():
        found.setdefault(model, []).append(Harm(*harm))
    return found


def checks(lake: Lake, run: Run) -> list[Check]:
    """Checks by model in reading order; raises UserError if no warehouse has been built."""
    return checks_of(query(lake, report_kind(run.kind).checks, [run.run_id]))


def headline_checks(lake: Lake, run: Run) -> list[Check]:
    """As `checks`, but one for each requirement of a benchmark, in the language that is worst: what a first screen
    counts."""
    if headlines := report_kind(run.kind).headlines:
        return checks_of(query(lake, headlines, [run.run_id]))
    return [
        replace(check, refused=_refusal_share(check), replies=_count_judged(check)) for check in checks(lake, run)
    ]


def checks_of(rows: pl.DataFrame) -> list[Check]:
    return [Check(**row | {"lost": row["lost"] or {}}) for row in rows.iter_rows(named=True)]


def _count_judged(check: Check) -> int:
    return check.total + sum(check.lost.values())


def _refusal_share(check: Check) -> float | None:
    judged = _count_judged(check)
    return check.lost["refused"] / judged if judged and "refused" in check.lost else check.refused


def by_model(found: Sequence[Check]) -> Iterator[tuple[str, list[Check]]]:
    for model in dict.fromkeys(check.model for check in found):
        yield model, [check for check in found if check.model == model]
