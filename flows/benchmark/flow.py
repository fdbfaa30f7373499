"""The main job as a Prefect flow: generate, prompt, evaluate and aggregate over the grid."""

from __future__ import annotations

from functools import partial

import polars as pl
from prefect import get_run_logger

from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.flows.benchmark.kind import BENCHMARK, BenchmarkOptions
from biasgrid.flows.benchmark.outcome import Outcome
from biasgrid.flows.benchmark.sections import publish
from biasgrid.flows.runs.cells import cells_stage
from biasgrid.flows.runs.context import Grid, generate_stage
from biasgrid.flows.runs.driver import kind_flow, run_kind
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import planned_cells


@kind_flow(BENCHMARK)
async def benchmark(given: BenchmarkOptions) -> Outcome:
    """Test models against ethical requirements, now and in this one process.

    Each cell of the grid model × requirement × language × input × reflection is **prompted**, its replies are
    **evaluated**, and all verdicts are **aggregated** into the warehouse. Artifacts show how it ended: `summary`,
    `findings`, `grid`, and where there are earlier runs `regressions` and `trend`, each with the scenario's name.
    """
    return await run_kind(BENCHMARK, given, _play, partial(_publish, pictures=given.pictures))


async def _play(grid: Grid, resolved: ResolvedScenario) -> None:
    run_id = grid.run.run_id
    cells = planned_cells(grid.lake, run_id)
    if cells.is_empty():
        cells = await generate_stage(grid)
    grid.run.record(grid.lake, "running")
    get_run_logger().info("%s", describe_cells(run_id, cells))
    await cells_stage(grid, cells)


def describe_cells(run_id: str, cells: pl.DataFrame) -> str:
    """Number of cells and cases of a run, for its log."""
    cases, models = cells["planned"].sum(), cells["model"].n_unique()
    return f"run {run_id}: {cases:,} cases in {cells.height:,} cells, of {models:,} model{'s'[: models > 1]}"


async def _publish(lake: Lake, found: Outcome, name: str, *, pictures: bool) -> None:
    await publish(lake, found, name)
    if pictures:
        from biasgrid.flows.benchmark.trend_chart import publish_pictures

        await publish_pictures(lake, found.run_id, name)
