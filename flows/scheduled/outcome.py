"""State in which a nightly run ends, for users, automations and exit codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from prefect.client.schemas.objects import State
from prefect.events import emit_event
from prefect.states import Completed, Failed

from biasgrid.catalogs.schema.choices import NightGate as NightGate
from biasgrid.flows.benchmark.outcome import Outcome
from biasgrid.flows.benchmark.previous_runs import EarlierRuns
from biasgrid.flows.benchmark.summary import count_met
from biasgrid.flows.runs.outcome import NOT_MET, UNDECIDED
from biasgrid.flows.scheduled.dispatch import Lost
from biasgrid.tasks.report.figures import share
from biasgrid.warehouse.storage.lake import Lake

REGRESSION, INCOMPLETE_NIGHT, OVER_COST = "Regression", "Incomplete", "OverCost"
NOT_MET_STATE, UNDECIDED_STATE = "NotMet", "Undecided"
"""Names of failed states."""
EVENT, RUN = "biasgrid.night.", "biasgrid.run."
"""Prefixes of a nightly event's name and of its run resource."""
NAMED = 3
"""Maximum number of requirements named in a state message."""

CAPPED = """
    select count(*) as requests
    from staging.stg_responses
    where run_id = ? and is_answer and error_class = 'CapReached'
"""
"""What stands in place of an answer: what was asked later, under a higher cap, has one."""


def is_over_cost(lake: Lake, run_id: str) -> bool:
    """Whether a cap of the run prevented a request."""
    from biasgrid.warehouse.build.build import query  # loads DuckDB: none of a night's start

    return bool(query(lake, CAPPED, [run_id], texts_of=run_id).item())


def final_state(
    found: Outcome, before: EarlierRuns, lost: Sequence[Lost], gate: NightGate, *, over_cost: bool
) -> State[Any]:
    """Final state by the most severe problem; a regression is reported even if replies are missing."""
    if before.worse:
        return _fail(REGRESSION, found, f"worse than the night before: {_list_few(map(_change, before.worse))}")
    if over_cost:
        return _fail(OVER_COST, found, "a cap was reached before everything was asked")
    if found.incomplete or lost:
        return _fail(INCOMPLETE_NIGHT, found, _incomplete(lost))
    code = found.exit_code_by("decided" if gate == "decided" else "point")
    if gate != "regression" and code in {NOT_MET, UNDECIDED}:
        return _unmet(found, gate, code)
    return Completed(
        message=f"run {found.run_id}: {count_met(found)}, {_summarise_changes(before.changes)}", data=found
    )


def announce(run_id: str, state: State[Any]) -> None:
    """Emits an event for automations, such as `biasgrid.night.Regression`."""
    # Prefect holds back its own event of a state for a quarter of an hour if a run was scheduled less than five
    # minutes before it began: it waits for the event of scheduling, and the server's scheduler sends none
    emit_event(
        event=f"{EVENT}{state.name}",
        resource={"prefect.resource.id": f"{RUN}{run_id}", "prefect.resource.name": run_id},
        payload={"run_id": run_id, "state": state.name, "message": state.message},
    )


def _unmet(found: Outcome, gate: NightGate, code: int) -> State[Any]:
    column = "decision" if gate == "decided" else "point_finding"
    unmet = [row for row in found.findings if row[column] != "met"]
    name = NOT_MET_STATE if code == NOT_MET else UNDECIDED_STATE
    return _fail(name, found, _list_few(f"{_whose(row)} is {row[column]}" for row in unmet))


def _fail(name: str, found: Outcome, message: str) -> State[Any]:
    return Failed(name=name, message=f"run {found.run_id}: {message}")


def _incomplete(lost: Sequence[Lost]) -> str:
    if not lost:
        return "coverage is below the scenario's floor"
    return "not everything was asked: " + _list_few(f"{', '.join(one.shard.models)} ({one.why})" for one in lost)


def _change(row: dict[str, Any]) -> str:
    rates = f"passes {share(row['rate'])}, {share(row['earlier_rate'])} before"
    return f"{_whose(row)} {rates} (q = {row['q_value']:.2g})"


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
    return f"none worse than the night before, {better} better"
