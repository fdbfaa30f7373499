"""Planning and playing a red team's sessions as Prefect tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import polars as pl
from prefect import task

from tasks.attack.cell import attack_cell
from tasks.attack.land import land_sessions, verdicts
from tasks.attack.session import Parties, Session, Transcript
from tasks.connectors.desk import Party
from tasks.connectors.switchboard import Switchboard
from tasks.connectors.task import ONCE, Label
from warehouse.lake import Lake


@task(name="plan", **ONCE)
async def plan_sessions(
    lake: Lake,
    planned: Sequence[tuple[Party, Sequence[Session]]],
    label: Label = Label("plan"),  # noqa: B008 - frozen
) -> pl.DataFrame:
    """Land the cases of the sessions with each target; returns the cells. Never cached: a run's own record."""
    label.attach()
    landed = [await asyncio.to_thread(land_sessions, lake, sessions, target) for target, sessions in planned]
    return pl.concat(landed)


@task(name="attack", **ONCE)
async def attack(
    lake: Lake,
    sessions: Sequence[Session],
    parties: Parties,
    board: Switchboard,
    evaluation_id: str,
    retries: int,
    system: str | None = None,
    hand: asyncio.Semaphore | None = None,
    watch: Callable[[Transcript], None] = lambda _: None,
    label: Label = Label("attack"),  # noqa: B008 - frozen
) -> None:
    """Play a cell's sessions and land their verdicts. Played again, they go on where they were."""
    label.attach()
    found = await attack_cell(
        lake, sessions, parties, board, retries=retries, system=system, hand=hand, watch=watch
    )
    rows = verdicts(found, evaluation_id, parties.judge.target, datetime.now(UTC))
    first = sessions[0]
    await asyncio.to_thread(lake.write, "verdicts", first.run_id, f"{evaluation_id}-{first.cell_id}", rows)
