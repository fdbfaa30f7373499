"""Conversations of one cell side by side: each in its own order, all into one journal."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from biasgrid.tasks.connectors.conversation.replaying_client import Desk

Ended = TypeVar("Ended")
PATIENCE_S = 10.0
"""How long what has been sent may take to arrive once the run is broken off."""


async def side_by_side(conversations: Iterable[Coroutine[Any, Any, Ended]], desk: Desk) -> list[Ended]:
    """What came of each, in their order; then the journal lands. On cancellation, and where one of them raises,
    nothing new is sent, and what is in flight still lands."""
    tasks = [asyncio.create_task(conversation) for conversation in conversations]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if any(task.cancelled() or task.exception() for task in done):
            await _wind_up(tasks, desk)
        for task in done:
            task.result()  # raises what it met
        return [task.result() for task in tasks]
    except asyncio.CancelledError:
        await _wind_up(tasks, desk)
        raise
    finally:
        await _dismiss(tasks, desk)
        await asyncio.shield(asyncio.to_thread(desk.journal.land))


async def _wind_up(tasks: Sequence[asyncio.Task[Ended]], desk: Desk) -> None:
    """Let what has been sent arrive; what only waits for its turn is given up. Who has asked nothing yet meets the
    closed desk."""
    desk.closed = True
    for task in desk.waiting():
        task.cancel()
    under_way = {*desk.asking, *tasks}  # what agents of a broken session have in flight outlives it
    await asyncio.wait(under_way, timeout=PATIENCE_S)


async def _dismiss(tasks: Sequence[asyncio.Task[Ended]], desk: Desk) -> None:
    left = {*desk.asking, *tasks}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
