"""The nightly job: a run shared out over a work pool, aggregated once, compared with the night before."""

from __future__ import annotations

import asyncio
from typing import Any

import polars as pl
from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from catalogs.scenario import Overrides
from catalogs.schema import Reuse
from flows.artifacts import publish, publish_changes
from flows.benchmark import concluded
from flows.handing_out import DEPLOYMENT, Lost, Round, hand_out
from flows.inspecting import inspecting
from flows.night import NightGate, announce, changes, ended, is_over_cost
from flows.outcome import Outcome
from flows.preparation import open_lake, prepare_unasked
from flows.shards import By, shards
from flows.stages import Grid, generate_stage, planned_cells
from flows.stand_ins import of_other_runs
from flows.under_way import led
from warehouse.expectations.inspector import Inspector
from warehouse.journal import recover
from warehouse.run_lock import RunLock
from warehouse.runs import find


def _name() -> str:
    began = flow_run.scheduled_start_time
    return f"night of {began:%Y-%m-%d %H:%M}" if began else "night"


@flow(name="nightly", flow_run_name=_name, validate_parameters=True, persist_result=False)
async def nightly(
    scenario: str | dict[str, Any] | None = None,
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
    gate: NightGate = "regression",
    shard_by: By = "model",
    takeovers: int = 2,
    expectations: bool = True,
    run_id: str | None = None,
    deployment: str = DEPLOYMENT,
) -> Outcome | State[Any]:
    """Test models against ethical requirements, each model on whatever worker has room for it, and say what
    became worse since the night before.

    One **shard** per model goes through the work pool of the deployment `shard/shard`; a shard whose worker is
    lost is handed out again and goes on where it was. When all have ended the warehouse is built once, checked,
    and the night is compared with the run before it. It ends **Completed**, or failed in a state that says why:
    `Regression` (names the requirement), `Incomplete`, `OverCost`, `NotMet`, `Undecided`.

    Args:
        scenario: path of a scenario file (YAML, or LangBiTe's JSON) on the workers, its content as JSON, or a dict
        library: templates to use in place of the shipped ones: a path on the workers, LangBiTe's format included
        models: `provider/model` names to test in place of the scenario's
        data: where lake and warehouse lie, the same for every worker; `BIASGRID_DATA`, else `data`, where absent
        samples: how often each prompt is asked
        seed: chooses the templates and seeds the samples
        reuse: which earlier replies stand in for asking: `run`, `all` or `none`
        max_age: how old a reply of another run may be to stand in, such as `7d`; with `reuse: all`
        max_cost: US dollars that the run may spend, shared out among the shards by what they are expected to cost
        max_requests: requests that the run may send, shared out alike
        batch: ask through the providers' batch APIs, where they have one
        gate: what fails a complete night: `regression` alone, or also what is not met, by `point` rates or
            `decided` by intervals
        shard_by: one shard per `model`, or per `provider`
        takeovers: how often a shard that was lost is handed out again
        expectations: the new warehouse replaces the old one only if lake and marts are as expected
        run_id: goes on with this unfinished run; `scenario` is then not needed
        deployment: takes the shards
    """
    lake = open_lake(data)
    source = find(lake, run_id).scenario_resolved if run_id else scenario
    if source is None:
        raise ValueError("name a `scenario`, or the `run_id` to go on with")
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
    prepared = prepare_unasked(source, overrides)
    async with led(lake, prepared, run_id) as grid:
        cells = await _planned(grid)
        with inspecting(expectations) as inspector:
            night = Round(grid.run.run_id, data, deployment, takeovers)
            lost = await hand_out(shards(cells, prepared.resolved, shard_by), night)
            return await _concluded(grid, lost, gate, inspector)


async def _planned(grid: Grid) -> pl.DataFrame:
    """The cells of the run, landed, with what stands in for asking: shards find both."""
    lake, run_id = grid.lake, grid.run.run_id
    with RunLock(lake, run_id):
        recover(lake, run_id)
        cells = planned_cells(lake, run_id)
        if cells.is_empty():
            cells = await generate_stage(grid)
        await of_other_runs(grid)
    grid.run.record(lake, "running")
    get_run_logger().info("run %s: %d cases in %d cells", run_id, cells["planned"].sum(), cells.height)
    return cells


async def _concluded(grid: Grid, lost: list[Lost], gate: NightGate, inspector: Inspector | None) -> State[Any]:
    lake, run_id = grid.lake, grid.run.run_id
    if lost:  # what they had been told before is there all the same
        await asyncio.to_thread(recover, lake)
    found = await concluded(lake, grid.run, inspector)
    changed = await asyncio.to_thread(changes, lake, run_id)
    over_cost = await asyncio.to_thread(is_over_cost, lake, run_id)
    await publish(found, grid.resolved.name)
    await publish_changes(run_id, changed)
    state = ended(found, changed, lost, gate, over_cost=over_cost)
    announce(run_id, state)
    return state
