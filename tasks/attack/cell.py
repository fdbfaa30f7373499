"""The sessions of one cell side by side: each in its own order, all into one journal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tasks.attack.converse import attack_session
from tasks.attack.session import Parties, Session, Transcript
from tasks.connectors.desk import desk_of
from tasks.connectors.side_by_side import side_by_side
from tasks.connectors.switchboard import Switchboard
from tasks.connectors.workers import hands
from warehouse.lake import Lake

ATTACK = "attack"


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
    desk = await desk_of(ATTACK, lake, sessions[0].run_id, sessions[0].cell_id, board, retries)
    hand = hand or hands(parties.target.target)

    async def play(session: Session) -> Transcript:
        async with hand:
            transcript = await attack_session(session, parties, desk, system)
        watch(transcript)
        return transcript

    return await side_by_side((play(session) for session in sessions), desk)
