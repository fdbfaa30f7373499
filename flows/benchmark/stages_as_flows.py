"""The verbs of the main job as flows of their own, each going on where the last one ended."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.runtime import flow_run

from biasgrid.catalogs.scenario.scenario import Overrides
from biasgrid.catalogs.schema.entries import Reuse
from biasgrid.flows.benchmark.artifacts import publish
from biasgrid.flows.benchmark.flow import concluded, ended, scenario_name
from biasgrid.flows.operations.secrets import secret_blocks
from biasgrid.flows.runs.cells import cells_stage
from biasgrid.flows.runs.context import generate_stage
from biasgrid.flows.runs.outcome import Outcome
from biasgrid.flows.runs.prepare import open_lake, prepare
from biasgrid.flows.runs.session import under_way
from biasgrid.flows.runs.user_errors import in_words
from biasgrid.warehouse.storage.runs import find, planned_cells


def _name() -> str:
    given = flow_run.parameters
    return f"{flow_run.flow_name} · {given.get('run_id') or scenario_name(given.get('scenario'))}"


@flow(name="generate", flow_run_name=_name, persist_result=False)
@in_words
async def generate_run(
    scenario: str | dict[str, Any],
    library: str | None = None,
    models: list[str] | None = None,
    data: str | None = None,
    samples: int | None = None,
    seed: int | None = None,
    reuse: Reuse | None = None,
    max_age: str | None = None,
    max_cost: float | None = None,
    max_requests: int | None = None,
    batch: bool | None = None,
) -> str:
    """Begin a run and land its cases; returns its id. Parameters as of the flow `benchmark`."""
    overrides = Overrides(
        library=library,
        models=models or (),
        samples=samples,
        seed=seed,
        reuse=reuse,
        max_age=max_age,
        max_cost=max_cost,
        max_requests=max_requests,
        batch=batch,
    )
    prepared = prepare(scenario, overrides, secret_blocks())
    lake = open_lake(data)
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
    run = find(lake, run_id)
    prepared = prepare(run.scenario_resolved, None, secret_blocks())
    async with under_way(lake, prepared, run.run_id, asks=ask) as grid:
        await cells_stage(grid, planned_cells(lake, run.run_id), ask=ask, judge=judge)


@flow(name="aggregate", flow_run_name=_name, persist_result=False)
@in_words
async def aggregate_run(run_id: str, data: str | None = None) -> Outcome:
    """Rebuild the warehouse and publish what a run found."""
    lake = open_lake(data)
    found = await concluded(lake, find(lake, run_id))
    await publish(lake, found, run_id)
    return ended(found)
