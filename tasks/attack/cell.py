"""The sessions of one cell side by side: each in its own order, all into one journal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tasks.attack.converse import attack_session
from tasks.attack.desk import Desk, landed
from tasks.attack.session import Parties, Session, Transcript
from tasks.connectors.switchboard import Switchboard
from tasks.connectors.workers import hands
from warehouse.journal import Journal
from warehouse.lake import Lake

PATIENCE_S = 10.0
"""How long what has been sent may take to arrive once the run is broken off."""


async def attack_cell(
    lake: Lake,
    sessions: Sequence[Session],
    parties: Parties,
    board: Switchboard,
    *,
    retries: int,
    system: str | None = None,
    hand: asyncio.Semaphore | None = None,
    watch: Callable[[Transcript], None] = lambda _: None,
) -> list[Transcript]:
    """Play the sessions of a cell, what has landed of them first; returns what came of each, in their order.

    `hand`: how many sessions may be under way, those of the target's other cells included. Each turn lands the
    moment it arrives. On cancellation nothing new is sent, and what is in flight still lands.
    """
    run_id, cell_id = sessions[0].run_id, sessions[0].cell_id
    before = await asyncio.to_thread(landed, lake, run_id, cell_id)
    desk = Desk(board, Journal(lake, run_id, cell_id), before, retries)
    hand = hand or hands(parties.target.target)

    async def play(session: Session) -> Transcript:
        async with hand:
            transcript = await attack_session(session, parties, desk, system)
        watch(transcript)
        return transcript

    tasks = [asyncio.create_task(play(session)) for session in sessions]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if any(task.cancelled() or task.exception() for task in done):
            await _wind_up(tasks, desk, board)
        for task in done:
            task.result()  # raises what it met
        return [task.result() for task in tasks]
    except asyncio.CancelledError:
        await _wind_up(tasks, desk, board)
        raise
    finally:
        await _dismiss(tasks)
        await asyncio.shield(asyncio.to_thread(desk.journal.land))


async def _wind_up(tasks: Sequence[asyncio.Task[Transcript]], desk: Desk, board: Switchboard) -> None:
    """Let what has been sent arrive; what only waits for its turn is given up."""
    desk.closed = True
    for task in tasks:
        if task not in board.in_flight:
            task.cancel()
    await asyncio.wait(tasks, timeout=PATIENCE_S)


async def _dismiss(tasks: Sequence[asyncio.Task[Transcript]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
