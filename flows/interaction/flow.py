"""Interactions as a Prefect flow: agents share out the tasks of scenes, alone and among others."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, cast

import polars as pl
from prefect import flow, get_run_logger
from prefect.runtime import flow_run
from prefect.utilities.annotations import quote

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.scenario.interaction import ResolvedInteraction
from biasgrid.catalogs.schema.interaction_file import Mitigation, Setting
from biasgrid.flows.benchmark.flow import NOTHING_NAMED, scenario_name
from biasgrid.flows.interaction.artifacts import publish
from biasgrid.flows.interaction.outcome import InteractionOutcome, ended, interaction_outcome
from biasgrid.flows.interaction.prepare import PreparedInteraction, overrides, planned, prepare_interaction
from biasgrid.flows.operations.secrets import secret_blocks
from biasgrid.flows.rate_limits.ledger import LeaseLedger
from biasgrid.flows.rate_limits.pools import pools
from biasgrid.flows.rate_limits.slots import Slots
from biasgrid.flows.runs.cells import cell_label
from biasgrid.flows.runs.concurrency import together
from biasgrid.flows.runs.context import Grid, refuse_changed, watching
from biasgrid.flows.runs.finish import concluded
from biasgrid.flows.runs.prepare import open_lake, prepared_before
from biasgrid.flows.runs.session import under_way
from biasgrid.flows.runs.user_errors import in_words
from biasgrid.tasks.connectors.task import Label
from biasgrid.tasks.connectors.workers import hands
from biasgrid.tasks.evaluate.task import read_assignments
from biasgrid.tasks.interaction.converse import Played
from biasgrid.tasks.interaction.play import Play
from biasgrid.tasks.interaction.task import plan_plays, play_scenes
from biasgrid.warehouse.build import load_warehouse
from biasgrid.warehouse.expectations.process import inspecting
from biasgrid.warehouse.storage.runs import find, record_planned

Cell = dict[str, Any]


def _run_name() -> str:
    given = flow_run.parameters
    return f"interaction · {given.get('run_id') or scenario_name(given.get('interaction'))}"


@flow(name="interaction", flow_run_name=_run_name, validate_parameters=True, persist_result=False)
@in_words
async def interaction(
    interaction: str | dict[str, Any] | None = None,
    models: list[str] | None = None,
    domains: list[str] | None = None,
    axes: list[str] | None = None,
    scenes: int | Literal["all"] | list[str] | None = None,
    settings: list[Setting] | None = None,
    mitigations: list[Mitigation] | None = None,
    languages: list[str] | None = None,
    runs: int | None = None,
    protocol: str | None = None,
    max_cost: float | None = None,
    max_requests: int | None = None,
    seed: int | None = None,
    expectations: bool = False,
    data: str | None = None,
    run_id: str | None = None,
) -> InteractionOutcome:
    """See whether models share out tasks as stereotypes have it, and whether that grows when they talk.

    Every reply lands the moment it arrives; an interrupted run goes on in mid-conversation. Artifacts tell how it
    ended: `interaction-summary`, `interaction-scores`.

    Args:
        interaction: the path of an interaction file that the worker reads, or its content as JSON
        models: `provider/model` names, each to play all people of its scenes; None: the file's models and casts
        domains: of catalogs/scenes; None: as the file has it
        axes: only scenes whose people differ in these; None: as the file has it
        scenes: how many scenes, `all`, or which ones; None: as the file has it
        settings: no_interaction, no_goal, goal, understanding; None: as the file has it
        mitigations: none, reflection, reflection_with_examples; None: as the file has it
        languages: such as `en_us`; None: the file's
        runs: how often each scene is played
        protocol: of catalogs/protocols; None: the file's
        max_cost: US dollars that the run may spend
        max_requests: requests that the run may send
        seed: chooses scenes, names, and orders; None: the file's
        expectations: the new warehouse replaces the old one only if lake and marts are as expected
        data: directory or `s3://bucket/prefix` of lake and warehouse; None: `BIASGRID_DATA`, or `data`
        run_id: goes on with this unfinished interaction, whatever `interaction` says
    """
    lake = open_lake(data) if run_id else None
    source = find(lake, run_id).scenario_resolved if lake else interaction
    if source is None and not models:
        raise UserError(NOTHING_NAMED)
    given = overrides(
        models=models,
        domains=domains,
        axes=axes,
        scenes=scenes,
        settings=settings,
        mitigations=mitigations,
        languages=languages,
        runs=runs,
        protocol=protocol,
        max_cost=max_cost,
        max_requests=max_requests,
        seed=seed,
    )
    prepared = prepared_before(PreparedInteraction) or prepare_interaction(
        source or {"interaction": {}}, given, secret_blocks()
    )
    lake = lake or open_lake(data)
    async with under_way(lake, prepared, run_id) as grid:
        loading = asyncio.create_task(asyncio.to_thread(load_warehouse))
        with inspecting(expectations) as inspector:
            await _played(grid, prepared.resolved)
            await loading
            found = await concluded(lake, grid.run, inspector, interaction_outcome)
        await publish(found, prepared.resolved.name)
    return ended(found)


async def _played(grid: Grid, resolved: ResolvedInteraction) -> None:
    """Plan every play, then play them: cells side by side, as many plays as their models take."""
    lake, run = grid.lake, grid.run
    by_cell = list(planned(run.run_id, resolved))
    refuse_changed(grid, {play.id for plays in by_cell for play in plays}, "a model, a scene or a wording")
    stages = cast(Any, quote([play for plays in by_cell for play in plays]))
    cells = await plan_plays(lake, stages, Label("plan", tuple(grid.tags)))
    record_planned(lake, run.run_id, cells)
    run.record(lake, "running")
    get_run_logger().info("run %s: %d plays in %d cells", run.run_id, cells["planned"].sum(), cells.height)
    _tell_planned(run.run_id, by_cell)
    rows = {cell["cell_id"]: cell for cell in cells.to_dicts()}
    ledger = LeaseLedger.of(lake, run.run_id, grid.part)
    leasing = [target for target in resolved.asked if pools([target])]
    hand = {name: hands(targets[0]) for name, targets in resolved.players.items()}
    async with Slots(grid.model_pool, leasing, ledger) as slots, slots.taken():
        await together(_of_cell(grid, rows[plays[0].cell_id], plays, hand[plays[0].player]) for plays in by_cell)


def _tell_planned(run_id: str, by_cell: Sequence[Sequence[Play]]) -> None:
    if watcher := watching.get():
        requests: Counter[str] = Counter()
        for plays in by_cell:
            requests[plays[0].player] += sum(play.requests for play in plays)
        watcher.planned(run_id, dict(requests))


async def _of_cell(grid: Grid, cell: Cell, plays: list[Play], hand: asyncio.Semaphore) -> None:
    """Play a cell's scenes, then read who was given what."""
    watcher = watching.get()

    def watch(found: Played) -> None:
        if watcher:
            outcome = "answered" if found.outcome == "played" else "failed"
            for _ in range(found.play.requests):
                watcher.landed(found.play.player, outcome, None)

    own, retries = cast(Any, quote(plays)), grid.resolved.settings.retries
    await play_scenes(
        grid.lake, own, grid.model_pool, retries, hand, watch, cell_label("interact", cell, grid.tags)
    )
    await _read(grid, cell)


async def read_cells(grid: Grid, cells: pl.DataFrame) -> None:
    """Read the replies of cells that have been played, one cell after the other."""
    for cell in cells.to_dicts():
        await _read(grid, cell)


async def _read(grid: Grid, cell: Cell) -> None:
    label = cell_label("read", cell, grid.tags)
    await read_assignments(grid.lake, grid.run.run_id, cell["cell_id"], grid.evaluation_id, grid.catalog, label)
