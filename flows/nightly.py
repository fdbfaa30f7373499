"""The nightly job: a run shared out over a work pool, aggregated once, compared with the night before."""

from __future__ import annotations

import asyncio
from typing import Any

import polars as pl
from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from catalogs.mistakes import UserMistake
from catalogs.scenario import Overrides, Source
from catalogs.schema import Reuse
from flows.artifacts import publish
from flows.benchmark import NOTHING_NAMED, begun, concluded
from flows.handing_out import DEPLOYMENT, Lost, Round, hand_out, refuse_unknown
from flows.in_words import in_words
from flows.inspecting import inspecting
from flows.night import NightGate, announce, ended, is_over_cost
from flows.outcome import Outcome
from flows.picture_artifacts import publish_pictures
from flows.preparation import open_lake, prepare_unasked
from flows.shard_runs import shard_runs
from flows.shards import By, shards
from flows.stages import Grid, generate_stage
from flows.stand_ins import of_other_runs
from flows.under_way import led
from warehouse.expectations.inspector import Inspector
from warehouse.journal import recover
from warehouse.planned import planned_cells
from warehouse.run_lock import RunBusy, RunLock
from warehouse.runs import find


def _name() -> str:
    began = flow_run.scheduled_start_time
    return f"night of {began:%Y-%m-%d %H:%M} UTC" if began else "night"


@flow(name="nightly", flow_run_name=_name, validate_parameters=True, persist_result=False)
@in_words
async def nightly(
    scenario: str | dict[str, Any] | None = None,
    models: list[str] | None = None,
    gate: NightGate = "regression",
    max_cost: float | None = None,
    max_requests: int | None = None,
    samples: int | None = None,
    seed: int | None = None,
    reuse: Reuse | None = None,
    max_age: str | None = None,
    batch: bool | None = None,
    library: str | None = None,
    expectations: bool = True,
    pictures: bool = False,
    shard_by: By = "model",
    takeovers: int = 2,
    data: str | None = None,
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
        scenario: the name of one that comes along (`starter`, `full`, …), the path of a scenario file that every
            worker reads (YAML, or LangBiTe's JSON), or its content as JSON
        models: `provider/model` names to test, such as `openai/gpt-4o-mini`; None: the scenario's
        gate: what fails a complete night: a `regression` alone, or also what is not met, by `point` rates or
            `decided` by intervals
        max_cost: US dollars that the night may spend, shared out by what its shards are expected to cost; None:
            the scenario's cap, or none
        max_requests: requests that the night may send, shared out alike; None: the scenario's cap, or none
        samples: how often each prompt is asked; None: as the scenario has it
        seed: chooses the templates and seeds the samples; None: the scenario's
        reuse: earlier replies that stand in for asking: of this `run` alone, when it goes on; of `all` runs;
            `none`. None: as the scenario has it, mostly `run`
        max_age: with `reuse: all`, how old a reply of another run may be, such as `7d`; None: of any age
        batch: ask through the providers' batch APIs, for less money and later; None: as the scenario has it
        library: templates in place of the shipped ones: a path that every worker reads, LangBiTe's format included
        expectations: the new warehouse replaces the old one only if lake and marts are as expected
        pictures: the artifact `pictures`: pass rates, the grid, communities and trend, drawn in some seconds
        shard_by: one shard per `model`, or one per `provider`
        takeovers: how often a shard that was lost is handed out again
        data: where lake and warehouse lie, the same for every worker; None: `BIASGRID_DATA`, or `data`
        run_id: goes on with this unfinished run, as it was planned: of all the others only caps, gate and what
            shards go by count
        deployment: takes the shards
    """
    lake, run_id = open_lake(data), run_id or _begun_before()
    caps: dict[str, Any] = {"max_cost": max_cost, "max_requests": max_requests}
    if run_id:
        prepared = prepare_unasked(find(lake, run_id).scenario_resolved, Overrides(**caps))
    else:
        settings: dict[str, Any] = {"samples": samples, "seed": seed, "reuse": reuse, "max_age": max_age}
        overrides = Overrides(library=library, models=models or (), batch=batch, **settings, **caps)
        prepared = prepare_unasked(_named(scenario), overrides)
    await refuse_unknown(deployment)
    async with led(lake, prepared, run_id) as grid:
        cells = await _planned(grid)
        with inspecting(expectations) as inspector:
            night = Round(grid.run.run_id, data, deployment, takeovers)
            lost = await hand_out(shards(cells, prepared.resolved, shard_by), night)
            state = await _concluded(grid, lost, gate, inspector)
        if pictures:
            await publish_pictures(lake, grid.run.run_id, grid.resolved.name)
        return state


def _named(scenario: Source | None) -> Source:
    if scenario is None:
        raise UserMistake(NOTHING_NAMED)
    return scenario


def _begun_before() -> str | None:
    """The run of this flow run, where Prefect starts it again: it goes on."""
    tags: list[str] = flow_run.tags or []
    return next((tag.partition(":")[2] for tag in tags if tag.startswith("run:")), None)


async def _planned(grid: Grid) -> pl.DataFrame:
    """The cells of the run, landed, with what stands in for asking: shards find both. Raises `RunBusy` where
    somebody else plans it."""
    lake, run_id = grid.lake, grid.run.run_id
    try:
        with RunLock(lake, run_id):
            recover(lake, run_id)
            cells = planned_cells(lake, run_id)
            if cells.is_empty():
                cells = await generate_stage(grid)
            await of_other_runs(grid)
    except RunBusy:  # shards that a night before this one handed out still ask
        cells = planned_cells(lake, run_id)
        if cells.is_empty():
            raise
    grid.run.record(lake, "running")
    get_run_logger().info("%s", begun(run_id, cells))
    return cells


async def _concluded(grid: Grid, lost: list[Lost], gate: NightGate, inspector: Inspector | None) -> State[Any]:
    lake, run_id = grid.lake, grid.run.run_id
    if lost:  # what they had been told before is there all the same
        await asyncio.to_thread(recover, lake)
    found = await concluded(lake, grid.run, inspector, is_whole=not lost)
    over_cost = await asyncio.to_thread(is_over_cost, lake, run_id)
    before = await publish(lake, found, grid.resolved.name, await shard_runs(run_id))
    state = ended(found, before, lost, gate, over_cost=over_cost)
    announce(run_id, state)
    return state
