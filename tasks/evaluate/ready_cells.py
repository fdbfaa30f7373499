"""Cells whose replies are complete, handed from who prompts them to who reads them."""

from __future__ import annotations

import asyncio
from collections import deque


class ReadyCells:
    """In the order in which they became complete. Read within the event loop that fills it."""

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()
        self._changed = asyncio.Event()
        self._closed = False

    def add(self, cell_id: str) -> None:
        self._waiting.append(cell_id)
        self._changed.set()

    def close(self) -> None:
        """No further one will come."""
        self._closed = True
        self._changed.set()

    async def first(self) -> str | None:
        """The one that has waited longest, once there is one; None when all have been read. It waits on until it
        is `read`: who breaks off on it finds it again."""
        while not self._waiting and not self._closed:
            self._changed.clear()
            await self._changed.wait()
        return self._waiting[0] if self._waiting else None

    def read(self) -> None:
        """The first one is done with."""
        self._waiting.popleft()
