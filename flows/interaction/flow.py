"""Runs interactions as a Prefect flow: agents assign the tasks of scenes, alone and in groups."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import polars as pl
from prefect.utilities.annotations import quote

from biasgrid.catalogs.scenario.interaction import ResolvedInteraction
from biasgrid.flows.interaction.kind import INTERACTION, InteractionOptions
from biasgrid.flows.interaction.outcome import InteractionOutcome
from biasgrid.flows.runs.cell_groups import group_label
from biasgrid.flows.runs.cells import begin_cells, run_leased
from biasgrid.flows.runs.context import Grid, progress_listener, refuse_changed
from biasgrid.flows.runs.driver import kind_flow, run_kind
from biasgrid.tasks.connectors.task import Label, plan
from biasgrid.tasks.connectors.workers import request_slots
from biasgrid.tasks.evaluate.cell import Evaluation
from biasgrid.tasks.evaluate.task import read_replies
from biasgrid.tasks.interaction.converse import Played
from biasgrid.tasks.interaction.plan import plan_by_cell
from biasgrid.tasks.interaction.play import Play
from biasgrid.tasks.interaction.task import PlayCell, land_plays, play_scenes

Cell = dict[str, Any]


@kind_flow(INTERACTION)
async def interaction(given: InteractionOptions) -> InteractionOutcome:
    """See whether models share out tasks as stereotypes have it, and whether that grows when they talk.

    Every reply lands the moment it arrives; an interrupted run goes on in mid-conversation. Artifacts show how it
    ended: `interaction-summary`, `interaction-scores`.
    """
    return await run_kind(INTERACTION, given, _play)


async def _play(grid: Grid, resolved: ResolvedInteraction) -> None:
    """Plans every play, then runs cells in parallel within each model's limit of plays."""
    lake, run = grid.lake, grid.run
    by_cell = list(plan_by_cell(run.run_id, resolved))
    refuse_changed(grid, {play.id for plays in by_cell for play in plays}, "a model, a scene or a wording")
    land = partial(land_plays, lake, [play for plays in by_cell for play in plays])
    cells = await plan(land, Label("plan", tuple(grid.tags)))
    rows = begin_cells(grid, cells, "plays")
    _report_planned(run.run_id, by_cell)
    at_once = {name: request_slots(targets[0]) for name, targets in resolved.players.items()}
    works = (_play_cell(grid, rows[plays[0].cell_id], plays, at_once[plays[0].player]) for plays in by_cell)
    await run_leased(grid, works)


def _report_planned(run_id: str, by_cell: Sequence[Sequence[Play]]) -> None:
    if watcher := progress_listener.get():
        requests: Counter[str] = Counter()
        for plays in by_cell:
            requests[plays[0].player] += sum(play.requests for play in plays)
        watcher.on_plan(run_id, dict(requests))


async def _play_cell(grid: Grid, cell: Cell, plays: list[Play], slots: asyncio.Semaphore) -> None:
    """Plays a cell's scenes, then reads the assignments."""
    watcher = progress_listener.get()

    def watch(found: Played) -> None:
        if watcher:
            outcome = "answered" if found.outcome == "played" else "failed"
            for _ in range(found.play.requests):
                watcher.on_case(found.play.player, outcome, None)

    own = PlayCell(planned=plays, retries=grid.resolved.settings.retries, slots=slots, watch=watch)
    label = group_label("interact", [cell], grid.tags)
    await play_scenes(grid.lake, cast(Any, quote(own)), grid.model_pool, label)
    await _read(grid, cell)


async def read_cells(grid: Grid, cells: pl.DataFrame) -> None:
    """Reads the replies of completed cells, one cell after the other."""
    for cell in cells.to_dicts():
        await _read(grid, cell)


async def _read(grid: Grid, cell: Cell) -> None:
    from biasgrid.tasks.evaluate.assignment_verdicts import assignment_verdicts  # the readers of free text

    own, label = Evaluation(grid.evaluation_id, grid.catalog), group_label("read", [cell], grid.tags)
    await read_replies(grid.lake, grid.run.run_id, [cell["cell_id"]], own, assignment_verdicts, label)
