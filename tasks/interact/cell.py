"""The plays of one cell side by side: each in its own order, all into one journal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tasks.connectors.desk import desk_of
from tasks.connectors.side_by_side import side_by_side
from tasks.connectors.switchboard import Switchboard
from tasks.connectors.workers import hands
from tasks.interact.converse import Played, interact
from tasks.interact.play import Play
from warehouse.lake import Lake

INTERACTION = "interaction"


async def interact_cell(
    lake: Lake,
    plays: Sequence[Play],
    board: Switchboard,
    *,
    retries: int,
    hand: asyncio.Semaphore | None = None,
    watch: Callable[[Played], None] = lambda _: None,
) -> list[Played]:
    """Play the scenes of a cell, what has landed of them first; returns what came of each, in their order.

    `hand`: how many plays may be under way, those of the player's other cells included. Each reply lands the
    moment it arrives. On cancellation nothing new is sent, and what is in flight still lands.
    """
    first = plays[0]
    desk = await desk_of(INTERACTION, lake, first.run_id, first.cell_id, board, retries)
    own = hand or hands(first.people[0].party.target)

    async def play(one: Play) -> Played:
        async with own:
            found = await interact(one, desk)
        watch(found)
        return found

    return await side_by_side((play(one) for one in plays), desk)
