"""How a night ended: its state, and the causes of its alarm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from biasgrid.catalogs.choices import NightGate
from biasgrid.flows.benchmark.outcome import Outcome, explain_unqualified
from biasgrid.flows.benchmark.previous_runs import EarlierRuns
from biasgrid.flows.runs.outcome import NOT_MET, UNDECIDED
from biasgrid.flows.scheduled.causes import (
    INCOMPLETE,
    Cause,
    describe_effect,
    gap_cause,
    other_cause,
    unmet_cause,
    worse_cause,
)
from biasgrid.flows.scheduled.confirmation import UNCONFIRMED, Confirmed, pair_of
from biasgrid.flows.scheduled.dispatch import Lost
from biasgrid.flows.scheduled.gaps import Gap, describe_gaps
from biasgrid.flows.scheduled.shards import part_of
from biasgrid.flows.scheduled.spending import Series, spending_causes

REGRESSION, INCOMPLETE_NIGHT, OVER_COST = "Regression", "Incomplete", "OverCost"
NOT_MET_STATE, UNDECIDED_STATE = "NotMet", "Undecided"
BROKEN_NIGHT = "Broken"
"""Names of failed states."""
NAMED = 3
"""Maximum number of requirements named in a state message."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A night that was judged."""

    found: Outcome
    confirmed: Confirmed
    lost: Sequence[Lost] = ()
    """Shards whose process did not get to its end."""
    gaps: Sequence[Gap] = ()
    """What has no reply."""
    gate: NightGate = "regression"
    over_cost: bool = False
    spending: Sequence[Series] = ()
    bound: float = 0.0
    """Of cost and duration, in times of the usual; 0: none."""
    started_at: datetime | None = None
    resume: str = ""
    """The command that continues."""

    @property
    def before(self) -> EarlierRuns:
        return self.confirmed.before

    @property
    def is_incomplete(self) -> bool:
        return self.found.incomplete or bool(self.lost)

    @property
    def unmet(self) -> list[dict[str, Any]]:
        """Findings that the gate does not let pass, with their `state`."""
        if self.gate == "regression" or self.is_incomplete:
            return []
        column = "decision" if self.gate == "decided" else "point_finding"
        return [{**row, "state": row[column]} for row in self.found.findings if row[column] != "met"]

    @property
    def open_gaps(self) -> list[Gap]:
        """Gaps of models that have too few replies, or whose shard was lost."""
        short = {row["model"] for row in self.found.findings if not row.get("is_complete", True)}
        short |= {model for one in self.lost for model in one.shard.models}
        return [gap for gap in self.gaps if gap.model in short or not self.found.findings]


def final_state(night: Ended) -> State[Any]:
    """Final state by the most severe problem; a regression is reported even if replies are missing."""
    found, before = night.found, night.before
    if before.worse:
        changes = (f"{_whose(row)} {describe_effect(row)}" for row in before.worse)
        return _fail(REGRESSION, night, f"worse than the night before: {_list_few(changes)}")
    if night.over_cost:
        return _fail(OVER_COST, night, "a cap was reached before everything was asked")
    if night.is_incomplete:
        return _fail(INCOMPLETE_NIGHT, night, _incomplete(night))
    if night.unmet:
        code = found.exit_code_by("decided" if night.gate == "decided" else "point")
        unmet = (f"{_whose(row)} is {row['state']}" for row in night.unmet)
        if code in {NOT_MET, UNDECIDED}:
            return _fail(NOT_MET_STATE if code == NOT_MET else UNDECIDED_STATE, night, _list_few(unmet))
    return Completed(
        message=f"run {found.run_id}: {found.counts}, {_summarise_changes(before.changes)}", data=found
    )


def causes_of(night: Ended) -> list[Cause]:
    """Everything that an alarm may be about."""
    since = night.started_at
    worse = [worse_cause(row, since, night.confirmed.notes.get(pair_of(row), "")) for row in night.before.worse]
    unmet = [unmet_cause(row, row["state"], since) for row in night.unmet]
    return [*worse, *unmet, *_incomplete_causes(night), *spending_causes(night.spending, night.bound, since)]


def _incomplete_causes(night: Ended) -> Iterator[Cause]:
    since, gaps = night.started_at, night.open_gaps
    if night.over_cost:
        yield other_cause(INCOMPLETE, "a cap was reached", since, describe_gaps(gaps))
    elif night.is_incomplete:
        yield from (gap_cause(gap, since) for gap in gaps)
        for models, why in {one.shard.models: one.why for one in night.lost}.items():
            yield other_cause(INCOMPLETE, f"{', '.join(models)}: {why}", since, key=part_of(models))
        if not gaps and not night.lost:
            yield other_cause(INCOMPLETE, _without_gaps(night.found), since)


def _fail(name: str, night: Ended, message: str) -> State[Any]:
    resume = f"; resume with: {night.resume}" if night.resume and night.gaps else ""
    return Failed(name=name, message=f"run {night.found.run_id}: {message}{resume}")


def _incomplete(night: Ended) -> str:
    if night.lost:
        by_models = {one.shard.models: one.why for one in night.lost}
        lost = (f"{', '.join(models)} ({why})" for models, why in by_models.items())
        return "not everything was asked: " + _list_few(lost)
    return describe_gaps(night.open_gaps, NAMED) if night.open_gaps else _without_gaps(night.found)


def _without_gaps(found: Outcome) -> str:
    if found.unqualified:
        return "; ".join(map(explain_unqualified, found.unqualified))
    if found.unanswered:
        return f"the judge left {found.unanswered:,} questions unanswered"
    return "coverage is below the scenario's floor"


def _whose(row: dict[str, Any]) -> str:
    return f"`{row['requirement']}` of {row['model']}"


def _list_few(texts: Iterable[str]) -> str:
    every = list(texts)
    more = f"; and {len(every) - NAMED} more" if len(every) > NAMED else ""
    return "; ".join(every[:NAMED]) + more


def _summarise_changes(changed: Sequence[dict[str, Any]]) -> str:
    if not changed:
        return "no earlier night to compare with"
    better = sum(row["finding"] == "better" for row in changed)
    refuted = [f"{_whose(row)} {describe_effect(row)}" for row in changed if row["finding"] == UNCONFIRMED]
    noise = f"; not confirmed when asked again: {_list_few(refuted)}" if refuted else ""
    return f"none worse than the night before, {better} better{noise}"
