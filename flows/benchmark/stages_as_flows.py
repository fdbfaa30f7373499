"""Prefect flows of the single stages, each resuming from the previous one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from prefect import flow
from prefect.runtime import flow_run
from ulid import ULID

from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.flows.benchmark.kind import BENCHMARK, AgainOptions, BenchmarkOptions
from biasgrid.flows.benchmark.outcome import Outcome
from biasgrid.flows.benchmark.prepare import fit_to_run
from biasgrid.flows.operations.environment import secret_blocks
from biasgrid.flows.runs.cells import cells_stage
from biasgrid.flows.runs.context import generate_stage, record_criteria
from biasgrid.flows.runs.driver import (
    completed_state,
    conclude,
    conclude_again,
    report_user_errors,
    run_flow,
    run_title,
)
from biasgrid.flows.runs.prepare import Prepared, existing_lake, open_lake, prepared_before
from biasgrid.flows.runs.session import run_session, share_caps
from biasgrid.tasks.evaluate.current_oracles import rules
from biasgrid.warehouse.expectations.process import start_inspector
from biasgrid.warehouse.storage.runs import find_run, planned_cells

AGAIN = "run_id scenario library judge judge_passed data max_cost max_requests expectations"


@run_flow(AgainOptions, AGAIN, "evaluate again", lambda: run_title("evaluate again", "run_id"), run_id=...)
async def evaluate_again(given: AgainOptions) -> Outcome:
    """Judge the stored replies of a run again; no model under test is asked."""
    lake = existing_lake(given.data)
    run = find_run(lake, given.run_id, needs="later stage")
    prepared: Prepared[ResolvedScenario] = prepared_before(BENCHMARK.name) or fit_to_run(
        BENCHMARK.prepare(given.scenario or run.scenario_resolved, given, secret_blocks()), lake, run
    )
    async with run_session(lake, prepared, run.run_id, asks=False) as grid:
        again = replace(grid, again=str(ULID()), rules=rules(prepared.resolved.catalog))
        with start_inspector(given.expectations) as inspector:
            await cells_stage(again, planned_cells(lake, run.run_id), ask=False)
            record_criteria(again)  # last: an evaluation that is broken off does not count
            found = await conclude_again(lake, run, BENCHMARK, inspector)
        await BENCHMARK.publish(lake, found, prepared.resolved.name)
    return completed_state(found)


GENERATE = "scenario library models data samples seed reuse max_age max_cost max_requests batch *"


def _name() -> str:
    return run_title(flow_run.flow_name or "", "scenario")


@run_flow(BenchmarkOptions, GENERATE, "generate", _name, scenario=...)
async def generate_run(given: BenchmarkOptions) -> str:
    """Begin a run and land its cases; returns its id."""
    prepared = BENCHMARK.prepare(given.scenario, given, secret_blocks())
    lake = open_lake(given.data)
    async with run_session(lake, prepared) as grid:
        await generate_stage(grid)
        grid.run.record(lake, "running")
    return grid.run.run_id


@flow(name="prompt", flow_run_name=_name, persist_result=False)
@report_user_errors
async def prompt_run(run_id: str, data: str | None = None) -> None:
    """Ask every case of a run that has no reply yet."""
    await _cells(run_id, data, ask=True, judge=False)


@flow(name="evaluate", flow_run_name=_name, persist_result=False)
@report_user_errors
async def evaluate_run(run_id: str, data: str | None = None) -> None:
    """Judge every reply of a run."""
    await _cells(run_id, data, ask=False, judge=True)


async def _cells(run_id: str, data: str | None, *, ask: bool, judge: bool) -> None:
    lake = open_lake(data)
    run = find_run(lake, run_id, needs="later stage")
    prepared = BENCHMARK.prepare(run.scenario_resolved, secrets=secret_blocks())
    async with run_session(lake, prepared, run.run_id, asks=ask) as grid:
        cells = planned_cells(lake, run.run_id)
        await share_caps(BENCHMARK, grid, partial(cells_stage, grid, cells, ask=ask, judge=judge))


@flow(name="aggregate", flow_run_name=_name, persist_result=False)
@report_user_errors
async def aggregate_run(run_id: str, data: str | None = None) -> Outcome:
    """Rebuild the warehouse and publish what a run found."""
    lake = open_lake(data)
    found = await conclude(lake, find_run(lake, run_id), BENCHMARK)
    await BENCHMARK.publish(lake, found, run_id)
    return completed_state(found)
