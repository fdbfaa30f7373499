"""The same question asked twice at once is sent once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Flights(Generic[T]):
    """What is under way, by key. Of one event loop."""

    def __init__(self) -> None:
        self._under_way: dict[str, asyncio.Future[T | None]] = {}

    async def once(self, key: str, send: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """What `send` returned, and whether somebody else had sent it. Where the sender is cancelled, one
        of those who wait for it sends in its place."""
        while (flight := self._under_way.get(key)) is not None:
            # shielded: a waiter's cancellation must not land on the sender's future
            found = await asyncio.shield(flight)
            if found is not None:
                return found, True
        return await self._fly(key, send), False

    async def _fly(self, key: str, send: Callable[[], Awaitable[T]]) -> T:
        flight = self._under_way[key] = asyncio.get_running_loop().create_future()
        found: T | None = None
        try:
            found = await send()
            return found
        finally:
            del self._under_way[key]
            flight.set_result(found)
