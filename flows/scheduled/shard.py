"""Prompts and evaluates the cells of some models as one shard of a nightly run."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import polars as pl
from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.flows.benchmark.flow import describe_cells
from biasgrid.flows.benchmark.kind import BENCHMARK, BenchmarkOptions
from biasgrid.flows.operations.environment import secret_blocks
from biasgrid.flows.runs.cells import cells_stage
from biasgrid.flows.runs.driver import report_user_errors
from biasgrid.flows.runs.outcome import resume_command
from biasgrid.flows.runs.prepare import Prepared, open_lake
from biasgrid.flows.runs.run_state import find_changed_files
from biasgrid.flows.runs.session import Terminated, run_part, share_caps
from biasgrid.flows.scheduled.gaps import read_gaps, shard_state
from biasgrid.flows.scheduled.shards import Shard, part_of
from biasgrid.flows.scheduled.turns import hand_on
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, find_run, planned_cells


def _name() -> str:
    models: list[str] = flow_run.parameters.get("models") or []
    if str(flow_run.name).startswith("shard · "):  # as its night calls it
        return str(flow_run.name)
    return f"shard · {Shard(tuple(models), 0).title}" if models else "shard"


@flow(name="shard", flow_run_name=_name, validate_parameters=True, persist_result=False)
@report_user_errors
async def shard(
    run_id: str,
    models: list[str],
    data: str | None = None,
    max_cost: float | None = None,
    max_requests: int | None = None,
    cells: list[str] | None = None,
) -> State[Any]:
    """Ask some models what a run has planned for them, and judge what they reply. A nightly run starts these.

    What has landed is not asked again: a shard that was lost is resumed, on any machine. It ends **Completed** if
    every case has its reply; else `Away` (its provider may come back), `Stopped` (key, quota, name), `OverCost` or
    `Unanswered`, with the models, errors, their number and since when. If its process is asked to end, it lands
    what is in flight and goes back into its pool as `Interrupted`.

    Args:
        run_id: the run, planned already
        models: `provider/model` names, of those that the run tests
        data: directory of the lake; `BIASGRID_DATA`, else `data`, where absent
        max_cost: US dollars that this shard may spend of the run's
        max_requests: requests that this shard may send of the run's
        cells: ids of cells of these models; None: all
    """
    lake = open_lake(data)
    run = find_run(lake, run_id, needs="rest to ask")
    given = BenchmarkOptions(models=models, max_cost=max_cost, max_requests=max_requests)
    prepared = BENCHMARK.prepare(run.scenario_resolved, given, secret_blocks())
    refuse_other_catalogs(run, prepared)
    own = own_cells(lake, run, prepared, cells)
    try:
        async with run_part(lake, prepared, run, part_of(models, cells or ()), own) as grid:
            get_run_logger().info("%s", describe_cells(run.run_id, own))
            became = await share_caps(BENCHMARK, grid, partial(cells_stage, grid, own))
    except Terminated as terminated:
        await hand_on(terminated)
    gaps = await asyncio.to_thread(read_gaps, lake, run_id, models, cells)
    command = f"the whole run resumes with: {resume_command(run_id, lake.named)}"
    return shard_state(became, gaps, command, prepared.resolved.settings.coverage)


def own_cells(
    lake: Lake, run: Run, prepared: Prepared[ResolvedScenario], ids: list[str] | None = None
) -> pl.DataFrame:
    """Planned cells of the prepared models, of these ids if there are any; raises UserError if there are none."""
    models = tuple(prepared.resolved.targets)
    cells = Shard(models, 0, cells=tuple(ids or ())).select(planned_cells(lake, run.run_id))
    if cells.is_empty():
        what = f"run `{run.run_id}` has planned nothing for `{', '.join(prepared.resolved.targets)}`"
        raise UserError(Problem(what, "models", "name models that the run tests"))
    return cells


def refuse_other_catalogs(run: Run, prepared: Prepared[ResolvedScenario]) -> None:
    """Raises UserError if catalog files by which the run goes differ from those it was planned with."""
    differing, _ = find_changed_files(run, prepared.resolved.catalog.hashes)
    if differing:
        what = f"this machine's catalogs are not those of run `{run.run_id}`: {', '.join(differing[:5])}"
        remedy = "give every worker the same release, BIASGRID_CATALOG and library"
        raise UserError(Problem(what, remedy=remedy))
