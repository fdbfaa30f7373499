"""A provider's concurrency, shared by every process that reports to one Prefect server.

Each process leases slots of a global concurrency limit, `biasgrid:<provider>`, for as long as it asks: a few calls
a run, none per request. An operator may change the limit while runs are under way. What a killed process held is
released by the process that resumes its run, or expires within a minute.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate
from prefect.client.schemas.objects import ConcurrencyLeaseHolder
from prefect.client.schemas.responses import ConcurrencyLimitWithLeaseResponse, GlobalConcurrencyLimitResponse
from prefect.exceptions import MissingContextError, ObjectAlreadyExists, ObjectNotFound
from prefect.logging import get_logger, get_run_logger
from prefect.runtime import flow_run

from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.operations.prefect_server import standing_server
from biasgrid.flows.runs.lease_pools import Board, LeaseLedger, Pool, lease_order, split_slots

SWITCH = "BIASGRID_LEASES"
"""`off` disables sharing of limits."""
LEASE_S = 60.0
"""The shortest that Prefect grants: what a killed process held is free again after it."""
RENEW_S = 20.0
ROUND_S = 3.0
"""Interval in seconds of checks for free slots."""
PATIENCE_S = 10.0
"""For one call: Prefect's client tries again by itself for minutes."""
RELEASE_AFTER_S = (0.0, 0.5, 1.0)
"""The pauses before each try: the server's database may be busy."""
TAKEN = (422, 423)
"""Another process was faster, or an operator has lowered the limit meanwhile."""
TROUBLE = (httpx.HTTPError, ObjectNotFound, TimeoutError)


@asynccontextmanager
async def hold_leases(
    targets: Iterable[Target],
    model_pool: Board,
    ledger: LeaseLedger | None = None,
    *,
    round_s: float = ROUND_S,
    renew_s: float = RENEW_S,
) -> AsyncIterator[list[Pool]]:
    """Holds slots of the concurrency limits of all that `targets` need, at least one each, for which it waits; and
    more, up to their own concurrency, as others give theirs back. While another process waits for its first slot,
    it takes no more and gives back up to half of what it has. Without a standing Prefect server nothing is shared.
    A server in trouble ends nothing: what is held is kept. Leases that the `ledger` names as left behind are
    released first."""
    shared = lease_order(targets)
    if not shared or standing_server() is None or os.environ.get(SWITCH) == "off":
        yield []
        return
    async with get_client() as client:
        lessee = _Lessee(client, model_pool, shared, round_s, renew_s, ledger)
        try:
            await lessee.begin()
            yield shared
        finally:
            await _finish(lessee.end())


@dataclass
class _Lessee:
    client: PrefectClient
    model_pool: Board
    pools: list[Pool]
    round_s: float
    renew_s: float
    ledger: LeaseLedger | None = None
    lines: list[Pool] = field(default_factory=list)
    """Where this process waits."""
    keeper: asyncio.Task[None] | None = None
    troubled: bool = False

    async def begin(self) -> None:
        """One slot of each, and only then more: slots held while waiting for another are idle."""
        await self._give_back_left_behind()
        *before, last = self.pools
        for pool in before:
            await self._secure(pool, 1)
        await self._secure(last, last.need)
        for pool in before:
            await self._tend(pool)
        self.keeper = asyncio.create_task(self._keep())

    async def _give_back_left_behind(self) -> None:
        for lease_id in self.ledger.left_behind() if self.ledger else ():
            with suppress(*TROUBLE):  # it has expired, or will
                async with asyncio.timeout(PATIENCE_S):
                    await self.client.release_concurrency_slots_with_lease(lease_id)
        self._note()

    def _note(self) -> None:
        if self.ledger:
            self.ledger.note(lease_id for pool in self._every for lease_id in pool.leases)

    @property
    def _every(self) -> list[Pool]:
        return [*self.pools, *self.lines]

    async def end(self) -> None:
        if self.keeper is not None:
            self.keeper.cancel()
            await asyncio.gather(self.keeper, return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                for pause in RELEASE_AFTER_S:
                    await asyncio.sleep(pause)
                    if await self._gave_back():
                        return

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self.round_s)
            for pool in self.pools:
                if min(pool.leased, pool.slots) < pool.need or self._is_due(pool):
                    await self._tend(pool)

    async def _secure(self, pool: Pool, most: int) -> None:
        """Waits for the first slots; uses all if the server cannot report other users."""
        while True:
            try:
                limit = await self._limit(pool)
                await self._adjust(pool, limit, most)
                for held in self._every:
                    await self._renew(held)
                if not pool.slots and not self.lines:
                    message = "waiting for a slot of the concurrency limit `%s`: all %d are taken by other runs"
                    _logger().info(message, pool.name, limit.limit)
                    await self._stand_in_line(pool.waiting_line)
            except TROUBLE as error:
                self._warn_once(error)
                if not pool.slots:
                    self._grant(pool, pool.need)
            if pool.slots:
                return await self._leave_line()
            await asyncio.sleep(self.round_s)

    async def _stand_in_line(self, line: Pool) -> None:
        self.lines.append(line)
        await self._limit(line)
        await _finish(self._lease(line, 1))

    async def _leave_line(self) -> None:
        """What the server does not take back now expires."""
        lines, self.lines = self.lines, []
        await _finish(self._release(lines))
        self._note()

    async def _tend(self, pool: Pool) -> None:
        try:
            await self._renew(pool)
            await self._adjust(pool, await self._limit(pool), pool.need)
            self.troubled = False
        except TROUBLE as error:
            self._warn_once(error)

    async def _adjust(self, pool: Pool, limit: GlobalConcurrencyLimitResponse, most: int) -> None:
        """More slots, up to `most`, where some are free; fewer where none is and another process waits. Where an
        operator has lowered the limit, this process's share of it: its lease stays as it is, for who gives back to
        lease less may find that taken, and of a limit of 0 Prefect can take nothing back."""
        if not limit.active:  # lets everything through
            self._grant(pool, pool.need)
        elif pool.leased and limit.active_slots > limit.limit:
            share = pool.leased * limit.limit // limit.active_slots
            self._grant(pool, max(share, min(1, limit.limit)), limit.limit)
        else:
            free, waiting = limit.limit - limit.active_slots, await self._count_waiting(pool)
            if pool.leased and waiting:
                await self._make_room(pool, limit.limit, free)
                return
            if (more := min(most - pool.leased, -(-free // max(waiting, 1)))) > 0:
                for part in split_slots(more):
                    await _finish(self._lease(pool, part))  # the reply names what must be given back
            if pool.leased:
                self._grant(pool, pool.leased, limit.limit)

    async def _make_room(self, pool: Pool, limit: int, free: int) -> None:
        """Gives back a part where none is free, once the requests that used it have ended."""
        if free > 0 or (surplus := pool.surplus) is None:
            self._grant(pool, pool.leased, limit)
            return
        left = pool.leased - pool.leases[surplus]
        self._grant(pool, left, limit)
        if self.model_pool.count_taken(pool.scope) <= left:
            await self.client.release_concurrency_slots_with_lease(surplus)
            del pool.leases[surplus]
            self._note()

    async def _count_waiting(self, pool: Pool) -> int:
        """Processes that wait for their first slot."""
        with suppress(ObjectNotFound):
            async with asyncio.timeout(PATIENCE_S):
                line = await self.client.read_global_concurrency_limit_by_name(pool.waiting_line.name)
                return line.active_slots
        return 0

    async def _lease(self, pool: Pool, slots: int) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                response = await self.client.increment_concurrency_slots_with_lease(
                    [pool.name], slots, "concurrency", LEASE_S, _holder()
                )
        except httpx.HTTPStatusError as error:
            if error.response.status_code in TAKEN:
                return
            raise
        lease = ConcurrencyLimitWithLeaseResponse.model_validate(response.json())
        pool.leases[lease.lease_id] = slots
        self._note()
        pool.renewed_at = pool.renewed_at or time.monotonic()

    def _is_due(self, pool: Pool) -> bool:
        return time.monotonic() - pool.renewed_at >= self.renew_s

    async def _renew(self, pool: Pool) -> None:
        """Renews a due lease; an unknown lease is leased again from free slots."""
        if not self._is_due(pool):
            return
        async with asyncio.timeout(PATIENCE_S):
            for lease_id in list(pool.leases):
                try:
                    await self.client.renew_concurrency_lease(lease_id, LEASE_S)
                except httpx.HTTPStatusError as error:
                    if error.response.status_code != httpx.codes.GONE:
                        raise
                    del pool.leases[lease_id]
        pool.renewed_at = time.monotonic()

    async def _limit(self, pool: Pool) -> GlobalConcurrencyLimitResponse:
        """The current limit, created from the catalog's number if absent."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self.client.read_global_concurrency_limit_by_name(pool.name)
            except ObjectNotFound:
                new = GlobalConcurrencyLimitCreate(name=pool.name, limit=pool.need)
            with suppress(ObjectAlreadyExists):  # another process was faster
                await self.client.create_global_concurrency_limit(new)
            return await self.client.read_global_concurrency_limit_by_name(pool.name)

    async def _gave_back(self) -> bool:
        """Whether all leases were released; the rest expires."""
        await self._release(self._every)
        self._note()
        return not any(pool.leases for pool in self._every)

    async def _release(self, pools: Iterable[Pool]) -> None:
        for pool in pools:
            for lease_id in list(pool.leases):
                try:
                    await self.client.release_concurrency_slots_with_lease(lease_id)
                    del pool.leases[lease_id]
                except httpx.HTTPError as error:
                    self._warn_once(error)

    def _grant(self, pool: Pool, slots: int, total: int | None = None) -> None:
        pool.slots = slots
        self.model_pool.grant(pool.scope, slots, total)

    def _warn_once(self, error: Exception) -> None:
        if not self.troubled:
            message = "Prefect's concurrency limits cannot be used for now, what is held is kept: %s"
            _logger().warning(message, type(error).__name__)
        self.troubled = True


async def _finish(work: Coroutine[Any, Any, None]) -> None:
    """Completes the work before a cancellation takes effect."""
    task, cancelled = asyncio.create_task(work), None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    failure = task.exception()
    if stop := cancelled or failure:
        raise stop


def _holder() -> ConcurrencyLeaseHolder | None:
    """Lease holder shown in the Prefect UI."""
    flow_run_id = flow_run.id
    return ConcurrencyLeaseHolder(type="flow_run", id=UUID(flow_run_id)) if flow_run_id else None


def _logger() -> logging.Logger | logging.LoggerAdapter[Any]:
    try:
        return get_run_logger()
    except MissingContextError:
        return get_logger("biasgrid")


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

    async def __aexit__(self, *_: object) -> None:
        await self._lease.aclose()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Waits for slots, unless this run holds them already."""
        async with self._door:
            if not self.users:
                await self._lease.enter_async_context(hold_leases(self.targets, self.model_pool, self.ledger))
            self.users += 1
        try:
            yield
        finally:
            async with self._door:
                self.users -= 1
                if not self.users:
                    await self._lease.aclose()
