"""A provider's concurrency, shared by every process that reports to one Prefect server.

Each process leases slots of a global concurrency limit, `biasgrid:<provider>`, for as long as it asks: a few calls
a run, none per request. An operator may change the limit while runs are under way; a lease that a kill left behind
expires within a minute.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate
from prefect.client.schemas.objects import ConcurrencyLeaseHolder
from prefect.client.schemas.responses import ConcurrencyLimitWithLeaseResponse, GlobalConcurrencyLimitResponse
from prefect.exceptions import MissingContextError, ObjectAlreadyExists, ObjectNotFound
from prefect.logging import get_logger, get_run_logger
from prefect.runtime import flow_run
from prefect.settings import get_current_settings

from catalogs.models import Target

FREE = ("simulated", "replay")
"""Connectors that answer in this process: there is nothing to share."""
LEASE_S = 60.0
"""The shortest that Prefect grants: what a killed process held is free again after it."""
RENEW_S = 20.0
ROUND_S = 3.0
"""How often is looked for free slots by who could use more."""
PATIENCE_S = 10.0
"""For one call: Prefect's client tries again by itself for minutes."""
LOCKED = 423
TROUBLE = (httpx.HTTPError, TimeoutError)


class Board(Protocol):
    """Who hands out slots to requests."""

    def grant(self, name: str, slots: int, total: int | None = None) -> None:
        """From now on at most `slots` requests in flight to a provider, or to a model of its own concurrency, and
        so many of `total`, by default all, of what may be sent in a minute."""
        ...


@dataclass
class Pool:
    """One limit at the server, and what this process holds of it."""

    scope: str
    """A provider, or a model whose concurrency is its own."""
    need: int
    leases: dict[UUID, int] = field(default_factory=dict)
    slots: int = 0
    """As granted to the board; more than is leased where the server let everything through, or was lost."""
    renewed_at: float = 0.0

    @property
    def name(self) -> str:
        """Of the limit; Prefect takes no `/` in it."""
        return "biasgrid:" + re.sub(r"[^\w .:@+-]", ":", self.scope, flags=re.ASCII)

    @property
    def leased(self) -> int:
        return sum(self.leases.values())


def pools(targets: Iterable[Target]) -> list[Pool]:
    """What is to be leased to ask `targets`, in the order in which every process leases it: whoever waits for one
    holds only what comes before it, so that no two wait for each other."""
    needs: dict[str, int] = {}
    for target in targets:
        if target.connector not in FREE:
            scope = target.model if "concurrency" in target.own_limits else target.provider
            needs[scope] = max(needs.get(scope, 0), target.limits.concurrency)
    return [Pool(scope, need) for scope, need in sorted(needs.items())]


@asynccontextmanager
async def leased(
    targets: Iterable[Target], board: Board, *, round_s: float = ROUND_S, renew_s: float = RENEW_S
) -> AsyncIterator[list[Pool]]:
    """Holds slots of the concurrency limits of all that `targets` need, at least one each, for which it waits; and
    more, up to their own concurrency, as others give theirs back. Without a Prefect server of its own standing
    there is nobody to share with. A server in trouble ends nothing: what is held is kept."""
    shared = pools(targets)
    if not shared or get_current_settings().api.url is None:
        yield []
        return
    async with get_client() as client:
        lessee = _Lessee(client, board, shared, round_s, renew_s)
        keeper: asyncio.Task[None] | None = None
        try:
            await lessee.begin()
            keeper = asyncio.create_task(lessee.keep())
            yield shared
        finally:
            if keeper is not None:
                keeper.cancel()
                await asyncio.wait([keeper])
            await asyncio.shield(lessee.end())


@dataclass
class _Lessee:
    client: PrefectClient
    board: Board
    pools: list[Pool]
    round_s: float
    renew_s: float
    troubled: bool = False

    async def begin(self) -> None:
        """One slot of each, and only then more: what is held while waiting for another is of use to nobody."""
        *before, last = self.pools
        for pool in before:
            await self._secure(pool, 1)
        await self._secure(last, last.need)
        for pool in before:
            await self._tend(pool)

    async def keep(self) -> None:
        while True:
            await asyncio.sleep(self.round_s)
            for pool in self.pools:
                due = time.monotonic() - pool.renewed_at >= self.renew_s
                if due:
                    await self._renew(pool)
                if due or pool.leased < pool.need:
                    await self._tend(pool)

    async def end(self) -> None:
        for pool in self.pools:
            await self._give_back(pool)

    async def _secure(self, pool: Pool, most: int) -> None:
        """Waits for the first slots; goes on with all where the server cannot say who else needs them."""
        waits = False
        while pool.slots == 0:
            try:
                limit = await self._limit(pool)
                await self._lease(pool, limit, most)
            except TROUBLE as error:
                self._tell(error)
                self._grant(pool, pool.need)
            if pool.slots == 0:
                if not waits:
                    message = "waiting for a slot of the concurrency limit `%s`: all %d are taken by other runs"
                    _logger().info(message, pool.name, limit.limit)
                waits = True
                await asyncio.sleep(self.round_s)

    async def _tend(self, pool: Pool) -> None:
        """More slots where some are free, fewer where an operator has lowered the limit."""
        try:
            limit = await self._limit(pool)
            if limit.active and pool.leased and limit.active_slots > limit.limit:
                await self._shrink(pool, limit)
            elif not limit.active or pool.leased < pool.need:
                await self._lease(pool, limit, pool.need - pool.leased)
            self.troubled = False
        except TROUBLE as error:
            self._tell(error)

    async def _lease(self, pool: Pool, limit: GlobalConcurrencyLimitResponse, most: int) -> None:
        if not limit.active:  # lets everything through
            self._grant(pool, pool.need)
            return
        free = min(most, limit.limit - limit.active_slots)
        if free > 0 and await self._increment(pool, free):
            self._grant(pool, pool.leased, limit.limit)

    async def _shrink(self, pool: Pool, limit: GlobalConcurrencyLimitResponse) -> None:
        """This process's share of the excess is given back: all its leases, for one of what remains."""
        remains = pool.leased * limit.limit // limit.active_slots
        remains = max(remains, min(1, limit.limit))
        self._grant(pool, remains, limit.limit)
        await self._give_back(pool)
        if remains:
            await self._increment(pool, remains)

    async def _increment(self, pool: Pool, slots: int) -> bool:
        """Whether they could be had. A cancellation waits for the reply: it names what must be given back."""
        asking = asyncio.create_task(self._asked(pool, slots))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            await asyncio.wait([asking])
            raise

    async def _asked(self, pool: Pool, slots: int) -> bool:
        holder = _holder()
        try:
            async with asyncio.timeout(PATIENCE_S):
                response = await self.client.increment_concurrency_slots_with_lease(
                    [pool.name], slots, "concurrency", LEASE_S, holder
                )
        except httpx.HTTPStatusError as error:
            if error.response.status_code == LOCKED:  # another process was faster
                return False
            raise
        lease = ConcurrencyLimitWithLeaseResponse.model_validate(response.json())
        pool.leases[lease.lease_id] = slots
        pool.renewed_at = pool.renewed_at or time.monotonic()
        return True

    async def _renew(self, pool: Pool) -> None:
        """A lease that the server no longer knows is leased again as far as slots are free; until then what was
        granted is kept."""
        pool.renewed_at = time.monotonic()
        for lease_id in list(pool.leases):
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await self.client.renew_concurrency_lease(lease_id, LEASE_S)
            except httpx.HTTPStatusError as error:
                self._tell(error)
                if error.response.status_code == httpx.codes.GONE:
                    del pool.leases[lease_id]
            except TROUBLE as error:
                self._tell(error)

    async def _limit(self, pool: Pool) -> GlobalConcurrencyLimitResponse:
        """The limit as it stands; made of the catalog's number where there is none."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self.client.read_global_concurrency_limit_by_name(pool.name)
            except ObjectNotFound:
                new = GlobalConcurrencyLimitCreate(name=pool.name, limit=pool.need)
            with suppress(ObjectAlreadyExists):  # another process was faster
                await self.client.create_global_concurrency_limit(new)
            return await self.client.read_global_concurrency_limit_by_name(pool.name)

    async def _give_back(self, pool: Pool) -> None:
        for lease_id in list(pool.leases):
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await self.client.release_concurrency_slots_with_lease(lease_id)
            except TROUBLE as error:
                self._tell(error)  # it expires
            del pool.leases[lease_id]

    def _grant(self, pool: Pool, slots: int, total: int | None = None) -> None:
        pool.slots = slots
        self.board.grant(pool.scope, slots, total)

    def _tell(self, error: Exception) -> None:
        if not self.troubled:
            message = "Prefect's concurrency limits cannot be used for now, what is held is kept: %s"
            _logger().warning(message, type(error).__name__)
        self.troubled = True


def _holder() -> ConcurrencyLeaseHolder | None:
    """By which the Prefect UI shows whose slots they are."""
    flow_run_id = flow_run.id
    return ConcurrencyLeaseHolder(type="flow_run", id=UUID(flow_run_id)) if flow_run_id else None


def _logger() -> logging.Logger | logging.LoggerAdapter[Any]:
    try:
        return get_run_logger()
    except MissingContextError:
        return get_logger("biasgrid")
