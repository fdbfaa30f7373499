"""Planning and playing scenes as Prefect tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

import polars as pl
from prefect import task

from tasks.connectors.switchboard import Switchboard
from tasks.connectors.task import ONCE, Label
from tasks.interact.cell import interact_cell
from tasks.interact.converse import Played
from tasks.interact.land import land_plays
from tasks.interact.play import Play
from warehouse.lake import Lake


@task(name="plan", **ONCE)
async def plan_plays(
    lake: Lake,
    plays: Iterable[Play],
    label: Label = Label("plan"),  # noqa: B008 - frozen
) -> pl.DataFrame:
    """Land the cases of a run's plays; returns the cells. Never cached: a run's own record."""
    label.attach()
    return await asyncio.to_thread(land_plays, lake, plays)


@task(name="interact", **ONCE)
async def play_scenes(
    lake: Lake,
    plays: Sequence[Play],
    board: Switchboard,
    retries: int,
    hand: asyncio.Semaphore | None = None,
    watch: Callable[[Played], None] = lambda _: None,
    label: Label = Label("interact"),  # noqa: B008 - frozen
) -> None:
    """Play a cell's scenes. Played again, they go on where they were."""
    label.attach()
    await interact_cell(lake, plays, board, retries=retries, hand=hand, watch=watch)
