"""Prefect tasks that plan and play a red team's sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import polars as pl
from prefect import task

from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.replaying_client import Participant, open_replaying_client, run_conversations
from biasgrid.tasks.connectors.task import UNCACHED_TASK, Label
from biasgrid.tasks.connectors.workers import request_slots
from biasgrid.tasks.redteam.converse import attack_session
from biasgrid.tasks.redteam.land import land_sessions, verdicts
from biasgrid.tasks.redteam.session import Parties, Session, Transcript
from biasgrid.warehouse.storage.lake import Lake

ATTACK = "attack"


async def attack_cell(
    lake: Lake,
    sessions: Sequence[Session],
    parties: Parties,
    model_pool: ModelPool,
    *,
    retries: int,
    system: str | None = None,
    hand: asyncio.Semaphore | None = None,
    watch: Callable[[Transcript], None] = lambda _: None,
) -> list[Transcript]:
    """Plays the sessions of a cell, resuming landed ones first; returns the transcripts in input order.

    `hand` limits concurrent sessions, including the target's other cells. Each turn lands on arrival. After
    cancellation nothing new is sent, and requests in flight still land."""
    desk = await open_replaying_client(ATTACK, lake, sessions[0].run_id, sessions[0].cell_id, model_pool, retries)
    hand = hand or request_slots(parties.target.target)

    async def play(session: Session) -> Transcript:
        async with hand:
            transcript = await attack_session(session, parties, desk, system)
        watch(transcript)
        return transcript

    return await run_conversations((play(session) for session in sessions), desk)


@task(name="plan", **UNCACHED_TASK)
async def plan_sessions(
    lake: Lake,
    planned: Sequence[tuple[Participant, Sequence[Session]]],
    label: Label = Label("plan"),  # noqa: B008 - frozen
) -> pl.DataFrame:
    """Lands the cases of the sessions with each target; returns the cells. Never cached: a run's own record."""
    label.attach()
    landed = [await asyncio.to_thread(land_sessions, lake, sessions, target) for target, sessions in planned]
    return pl.concat(landed)


@task(name="attack", **UNCACHED_TASK)
async def attack(
    lake: Lake,
    sessions: Sequence[Session],
    parties: Parties,
    model_pool: ModelPool,
    evaluation_id: str,
    retries: int,
    system: str | None = None,
    hand: asyncio.Semaphore | None = None,
    watch: Callable[[Transcript], None] = lambda _: None,
    label: Label = Label("attack"),  # noqa: B008 - frozen
) -> None:
    """Plays a cell's sessions and lands their verdicts; a repeated call resumes them."""
    label.attach()
    found = await attack_cell(
        lake, sessions, parties, model_pool, retries=retries, system=system, hand=hand, watch=watch
    )
    rows = verdicts(found, evaluation_id, parties.judge.target, datetime.now(UTC))
    first = sessions[0]
    await asyncio.to_thread(lake.write, "verdicts", first.run_id, f"{evaluation_id}-{first.cell_id}", rows)
