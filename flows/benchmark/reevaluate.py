"""A run judged again by other oracles, tolerances or another judge: a new evaluation beside the earlier ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from prefect import flow
from prefect.runtime import flow_run
from ulid import ULID

from biasgrid.catalogs.scenario.scenario import Overrides
from biasgrid.flows.benchmark.artifacts import publish
from biasgrid.flows.benchmark.flow import aggregated, ended, warn_of_gaps
from biasgrid.flows.benchmark.reevaluate_scenario import prepared_again
from biasgrid.flows.runs.cells import cells_stage
from biasgrid.flows.runs.context import record_criteria
from biasgrid.flows.runs.outcome import Outcome, outcome
from biasgrid.flows.runs.prepare import Prepared, existing_lake, prepared_before
from biasgrid.flows.runs.session import under_way
from biasgrid.flows.runs.user_errors import in_words
from biasgrid.tasks.evaluate.current_oracles import rules
from biasgrid.warehouse.expectations.process import Inspector, inspecting
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, State, find, planned_cells

ENDED = ("completed", "incomplete")


def _name() -> str:
    return f"evaluate again · {flow_run.parameters['run_id']}"


@flow(name="evaluate again", flow_run_name=_name, persist_result=False)
@in_words
async def evaluate_again(
    run_id: str,
    scenario: str | dict[str, Any] | None = None,
    library: str | None = None,
    judge: str | None = None,
    judge_passed: float | None = None,
    data: str | None = None,
    max_cost: float | None = None,
    max_requests: int | None = None,
    expectations: bool = False,
) -> Outcome:
    """Judge the stored replies of a run again; no model under test is asked.

    Args:
        run_id: the run; a beginning or end that only one has will do
        scenario: whose tolerances, deltas, refusal rules and judge count from now on; the run's own where absent
        library: templates whose oracles count from now on; the scenario's where absent
        judge: `provider/model` that gives the second opinion in place of the scenario's
        judge_passed: share of the replies that passed which the judge hears, too; it overrules none of them
        data: directory or `s3://bucket/prefix` of the lake and the warehouse
        max_cost: US dollars that the run may have spent, its judge's included
        max_requests: requests that the run may have sent, its judge's included
        expectations: the new warehouse replaces the old one only if lake and marts are as expected
    """
    lake = existing_lake(data)
    run = find(lake, run_id)
    overrides = Overrides(
        library=library, judge=judge, judge_passed=judge_passed, max_cost=max_cost, max_requests=max_requests
    )
    prepared = prepared_before(Prepared) or prepared_again(lake, run, scenario, overrides)
    async with under_way(lake, prepared, run.run_id, asks=False) as grid:
        again = replace(grid, again=str(ULID()), rules=rules(prepared.resolved.catalog))
        with inspecting(expectations) as inspector:
            await cells_stage(again, planned_cells(lake, run.run_id), ask=False)
            record_criteria(again)  # last: an evaluation that is broken off does not count
            found = await _concluded(lake, run, inspector)
        await publish(lake, found, prepared.resolved.name)
    return ended(found)


async def _concluded(lake: Lake, run: Run, inspector: Inspector | None) -> Outcome:
    """A run stays as it ended, unless its verdicts now make it complete, or do not any more."""
    await aggregated(lake, run.run_id, inspector)
    found = outcome(lake, run.run_id, is_checked=inspector is not None)
    state: State = "incomplete" if found.incomplete else "completed"
    if run.state in ENDED and run.state != state:
        run.record(lake, state)
        await aggregated(lake, run.run_id, inspector, f"aggregate · marked as {state}")
    warn_of_gaps(found)
    return found
