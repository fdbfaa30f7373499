"""The cells of one model, in line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from catalogs.models import Target
from tasks.connectors.workers import hands
from tasks.prompt.prompt import UnderWay

OPEN_CELLS = 4
"""Cells of one model that are begun before those ahead of them have sent their last case: Prefect takes its time
to start a task, and no slot shall be idle meanwhile."""


@dataclass(frozen=True)
class Line:
    """The cells of one model, in line: the next begins when one ahead has sent its last case, not when its last
    answer is in."""

    hands: asyncio.Semaphore
    gate: asyncio.Semaphore

    @classmethod
    def of(cls, target: Target) -> Line:
        return cls(hands(target), asyncio.Semaphore(OPEN_CELLS))

    @asynccontextmanager
    async def begun(self) -> AsyncIterator[UnderWay]:
        """The turn of one cell: what it shares with the others, and how it lets the next one begin."""
        await self.gate.acquire()
        let_next_begin = _once(self.gate.release)
        try:
            yield UnderWay(self.hands, let_next_begin)
        finally:
            let_next_begin()


def _once(act: Callable[[], None]) -> Callable[[], None]:
    """`act`, done when called first; later calls do nothing."""
    left = [act]
    return lambda: left.pop()() if left else None
