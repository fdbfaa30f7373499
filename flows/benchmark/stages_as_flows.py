"""Prefect flows of the single stages, each resuming from the previous one."""

from __future__ import annotations

from prefect import flow
from prefect.runtime import flow_run

from biasgrid.flows.benchmark.kind import BENCHMARK, BenchmarkOptions
from biasgrid.flows.operations.secrets import secret_blocks
from biasgrid.flows.runs.cells import cells_stage
from biasgrid.flows.runs.context import generate_stage
from biasgrid.flows.runs.driver import conclude, ended, run_flow, run_title
from biasgrid.flows.runs.outcome import Outcome
from biasgrid.flows.runs.prepare import open_lake
from biasgrid.flows.runs.session import under_way
from biasgrid.flows.runs.user_errors import in_words
from biasgrid.warehouse.storage.runs import find_run, planned_cells

PARAMETERS = "scenario library models data samples seed reuse max_age max_cost max_requests batch"


def _name() -> str:
    return run_title(flow_run.flow_name or "", "scenario")


@run_flow(BenchmarkOptions, PARAMETERS, "generate", _name, scenario=...)
async def generate_run(given: BenchmarkOptions) -> str:
    """Begin a run and land its cases; returns its id."""
    prepared = BENCHMARK.prepare(given.scenario, given, secret_blocks())
    lake = open_lake(given.data)
    async with under_way(lake, prepared) as grid:
        await generate_stage(grid)
        grid.run.record(lake, "running")
    return grid.run.run_id


@flow(name="prompt", flow_run_name=_name, persist_result=False)
@in_words
async def prompt_run(run_id: str, data: str | None = None) -> None:
    """Ask every case of a run that has no reply yet."""
    await _cells(run_id, data, ask=True, judge=False)


@flow(name="evaluate", flow_run_name=_name, persist_result=False)
@in_words
async def evaluate_run(run_id: str, data: str | None = None) -> None:
    """Judge every reply of a run."""
    await _cells(run_id, data, ask=False, judge=True)


async def _cells(run_id: str, data: str | None, *, ask: bool, judge: bool) -> None:
    lake = open_lake(data)
    run = find_run(lake, run_id)
    prepared = BENCHMARK.prepare(run.scenario_resolved, secrets=secret_blocks())
    async with under_way(lake, prepared, run.run_id, asks=ask) as grid:
        await cells_stage(grid, planned_cells(lake, run.run_id), ask=ask, judge=judge)


@flow(name="aggregate", flow_run_name=_name, persist_result=False)
@in_words
async def aggregate_run(run_id: str, data: str | None = None) -> Outcome:
    """Rebuild the warehouse and publish what a run found."""
    lake = open_lake(data)
    found = await conclude(lake, find_run(lake, run_id), BENCHMARK)
    await BENCHMARK.publish(lake, found, run_id)
    return ended(found)
