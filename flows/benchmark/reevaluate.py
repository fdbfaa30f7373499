"""Reevaluates a run with other oracles, tolerances or another judge, and keeps earlier evaluations."""

from __future__ import annotations

from dataclasses import replace

from ulid import ULID

from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.flows.benchmark.kind import BENCHMARK, AgainOptions
from biasgrid.flows.operations.secrets import secret_blocks
from biasgrid.flows.runs.cells import cells_stage
from biasgrid.flows.runs.context import record_criteria
from biasgrid.flows.runs.driver import conclude_again, ended, run_flow, run_title
from biasgrid.flows.runs.outcome import Outcome
from biasgrid.flows.runs.prepare import Prepared, existing_lake, prepared_before
from biasgrid.flows.runs.session import under_way
from biasgrid.tasks.evaluate.current_oracles import rules
from biasgrid.warehouse.expectations.process import start_inspector
from biasgrid.warehouse.storage.runs import find_run, planned_cells

PARAMETERS = "run_id scenario library judge judge_passed data max_cost max_requests expectations"


@run_flow(AgainOptions, PARAMETERS, "evaluate again", lambda: run_title("evaluate again", "run_id"), run_id=...)
async def evaluate_again(given: AgainOptions) -> Outcome:
    """Judge the stored replies of a run again; no model under test is asked."""
    lake = existing_lake(given.data)
    run = find_run(lake, given.run_id)
    prepared: Prepared[ResolvedScenario] = prepared_before(BENCHMARK.name) or BENCHMARK.prepare_again(
        lake, run, given, secret_blocks()
    )
    async with under_way(lake, prepared, run.run_id, asks=False) as grid:
        again = replace(grid, again=str(ULID()), rules=rules(prepared.resolved.catalog))
        with start_inspector(given.expectations) as inspector:
            await cells_stage(again, planned_cells(lake, run.run_id), ask=False)
            record_criteria(again)  # last: an evaluation that is broken off does not count
            found = await conclude_again(lake, run, BENCHMARK, inspector)
        await BENCHMARK.publish(lake, found, prepared.resolved.name)
    return ended(found)
