"""Leases slots while a run sends single requests and releases them afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.rate_limits.leases import leased
from biasgrid.flows.rate_limits.ledger import LeaseLedger
from biasgrid.flows.rate_limits.pools import Board


@dataclass
class Slots:
    """Async context manager that releases all slots at its end."""

    model_pool: Board
    targets: Sequence[Target]
    """Who is asked one by one, from the next lease on."""
    ledger: LeaseLedger | None = None
    users: int = 0
    _door: asyncio.Lock = field(default_factory=asyncio.Lock)
    _lease: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._lease.aclose()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Waits for slots, unless this run holds them already."""
        async with self._door:
            if not self.users:
                await self._lease.enter_async_context(leased(self.targets, self.model_pool, self.ledger))
            self.users += 1
        try:
            yield
        finally:
            async with self._door:
                self.users -= 1
                if not self.users:
                    await self._lease.aclose()
