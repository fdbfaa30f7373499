"""Model pool of a run: one connector and one queue per model, with shared limits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors import registry
from biasgrid.tasks.connectors.api import (
    Answer,
    CapReached,
    Connector,
    ConnectorBroken,
    ConnectorError,
    ConnectorFactory,
    HeaderReporting,
    Request,
    SessionMemory,
)
from biasgrid.tasks.connectors.client.connector_bugs import attribute_bugs
from biasgrid.tasks.connectors.client.rate_limit import Limiter, RequestRate, Slots
from biasgrid.tasks.connectors.client.retry import Backoff, RetryBudget
from biasgrid.tasks.connectors.client.run_budget import RunBudget
from biasgrid.tasks.connectors.client.sender import InFlight, Sender
from biasgrid.tasks.connectors.client.token_bucket import TokenBucket
from biasgrid.tasks.connectors.keys import Secrets, find_key

if TYPE_CHECKING:
    from biasgrid.catalogs.loading.catalog import Catalog

T = TypeVar("T")


class Closable(Protocol):
    async def close(self) -> None: ...


A = TypeVar("A", bound=Closable)


class SingleFlight(Generic[T]):
    """Merges concurrent calls with the same key, on one event loop."""

    def __init__(self) -> None:
        self._under_way: dict[str, asyncio.Future[T | None]] = {}

    async def once(self, key: str, send: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """The result of `send`, and whether another task sent it; waiters send if the sender is cancelled."""
        while (flight := self._under_way.get(key)) is not None:
            # shielded: cancelling a waiter must not cancel the sender's future
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


class SharedLimits:
    """Limiters of a process: limits in `own_limits` belong to the model, all others to its provider."""

    def __init__(self) -> None:
        self._slots: dict[str, Slots] = {}
        self._requests: dict[str, RequestRate] = {}
        self._tokens: dict[str, TokenBucket] = {}
        self._limiters: list[tuple[Target, Limiter]] = []
        self._granted: dict[str, tuple[int, int | None]] = {}

    def limiter(self, target: Target) -> Limiter:
        """A new queue for one model over its shared limits; must be called within an event loop."""
        own = Limiter.alone(target.limits)
        limiter = Limiter(
            self._slots.setdefault(limit_scope(target, "concurrency"), own.slots),
            self._requests.setdefault(limit_scope(target, "requests_per_minute"), own.requests),
            self._tokens.setdefault(limit_scope(target, "tokens_per_minute"), own.tokens),
        )
        self._limiters.append((target, limiter))
        self._apply(target, limiter)
        return limiter

    def grant(self, name: str, slots: int, total: int | None = None) -> None:
        """Sets this process's slots of `total` (default: the catalog's concurrency) and its share of the rates."""
        self._granted[name] = slots, total
        for target, limiter in self._limiters:
            self._apply(target, limiter)

    def count_taken(self, name: str) -> int:
        """Slots in use."""
        return self._slots[name].taken if name in self._slots else 0

    def _apply(self, target: Target, limiter: Limiter) -> None:
        name = limit_scope(target, "concurrency")
        if name not in self._granted:
            return
        slots, total = self._granted[name]
        limiter.slots.resize(slots)
        share = min(1.0, max(slots, 1) / (total or target.limits.concurrency))
        if name == limit_scope(target, "requests_per_minute") or "requests_per_minute" in target.own_limits:
            limiter.requests.rate.share(share, limiter.now())
        if name == limit_scope(target, "tokens_per_minute") or "tokens_per_minute" in target.own_limits:
            limiter.tokens.share(share, limiter.now())


def limit_scope(target: Target, limit: str) -> str:
    """The name under which a limit is shared."""
    return target.model if limit in target.own_limits else target.provider


__all__ = ["Answer", "ModelPool"]


class ModelPool:
    """Async context manager that sends all requests of a process; one per event loop."""

    # `shares`: identical requests are sent once, unless they belong to a session.

    def __init__(
        self,
        catalog: Catalog,
        secrets: Secrets | None = None,
        *,
        backoff: Backoff | None = None,
        run_budget: RunBudget | None = None,
        shares: bool = True,
        connect: ConnectorFactory = registry.connect,
    ) -> None:
        self.catalog = catalog
        self._secrets = secrets
        self._backoff = backoff or Backoff()
        self.run_budget = run_budget
        """The caps of the whole run; None for no caps."""
        self.shares = shares
        self.max_reply_mb: float | None = None
        """Of all models, in place of their own limits; None: as models.yaml has it."""
        self._sessions: Path | None = None
        self._connect = connect
        self._senders: dict[str, Sender] = {}
        self._remembering: dict[str, SessionMemory] = {}
        self._scopes = SharedLimits()
        self._flights: SingleFlight[Answer] = SingleFlight()
        self._repeated: dict[str, Answer | None] = {}
        self._failed: dict[tuple[str, str | None], ConnectorError] = {}
        self._given_up: dict[tuple[str, str | None], ConnectorError] = {}
        self._closing = AsyncExitStack()
        self.in_flight: InFlight = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._senders.clear()
        await self._closing.aclose()

    def prepare(self, targets: Iterable[Target]) -> None:
        """Checks or creates all connectors before the first request. Raises UserError that lists all errors."""
        mistakes: list[Problem] = []
        for target in targets:
            try:
                find_key(target, self._secrets)
                if self._connect is not registry.connect or not registry.is_checked(target):
                    self._sender(target)
            except UserError as found:
                mistakes.extend(found.mistakes)
        if mistakes:
            raise UserError(dict.fromkeys(mistakes))

    def keep_sessions(self, folder: Path) -> None:
        """Stores conversations in `folder`, which is created with the first one."""
        self._sessions = folder
        for model, connector in self._remembering.items():
            _keep_sessions(connector, folder, model)

    def expect(self, repeated: Mapping[str, Answer | None]) -> None:
        """Registers request keys that occur several times, with known answers, so that each is sent once."""
        self._repeated |= repeated

    def begin_round(self) -> None:
        """Lets requests that a cap had stopped be sent; those that failed otherwise keep their errors."""
        self._given_up |= self._failed

    def grant(self, name: str, slots: int, total: int | None = None) -> None:
        """Sets this process's slots of `total` and its share of the rates, at any time within the event loop."""
        self._scopes.grant(name, slots, total)

    def count_taken(self, name: str) -> int:
        """Slots in use of those that were granted; more, until requests end, than a grant that became smaller."""
        return self._scopes.count_taken(name)

    async def answer(
        self, target: Target, request: Request, retries: int, budget: RetryBudget | None = None
    ) -> Answer:
        """The model's answer or last error. Raises UserError if the target was not prepared and is unusable."""
        # `budget` bounds the retries of all requests that share it.
        shares = self.shares and request.session is None
        known = self._repeated.get(request.request_key) if shares else None
        if known is not None:
            return replace(known, shared=True)
        if (error := self._given_up.get((request.request_key, request.session))) is not None:
            return Answer(None, error, 0, None, datetime.now(UTC))
        sender = self._sender(target)
        if sender.stopped is not None:
            await asyncio.sleep(0)  # thousands of these in a row must not block the event loop
        send = partial(self._send, sender, request, retries, budget)
        if not shares:
            return await send()
        answer, shared = await self._flights.once(request.request_key, send)
        if request.request_key in self._repeated and answer.reply is not None:
            self._repeated[request.request_key] = answer
        return replace(answer, shared=True) if shared else answer

    async def _send(self, sender: Sender, request: Request, retries: int, budget: RetryBudget | None) -> Answer:
        answer = await sender.answer(request, retries, budget)
        if self.run_budget and self.run_budget.is_capped and not isinstance(answer.error, CapReached | None):
            self._failed[request.request_key, request.session] = answer.error
        return answer

    def waiting_s(self) -> dict[str, float]:
        """Seconds by model for which requests waited for limits, outages and retries."""
        return {model: sender.waiting_s for model, sender in self._senders.items()}

    async def forget(self, target: Target, session: str) -> None:
        """Ends a conversation and deletes its stored state."""
        connector = self._remembering.get(target.model)
        if connector is not None:
            await connector.forget(session)

    def open_api(self, target: Target, connect: Callable[[Target, str | None], A]) -> A:
        """The API of a target's provider, closed with the pool. Raises UserError if it cannot be used."""
        made = connect(self._limit(target), find_key(target, self._secrets))
        self._closing.push_async_callback(made.close)
        return made

    def _limit(self, target: Target) -> Target:
        if self.max_reply_mb is None:
            return target
        limits = target.limits.model_copy(update={"max_reply_mb": self.max_reply_mb})
        return target.model_copy(update={"limits": limits})

    def _open(self, target: Target) -> Connector:
        """The connector of a target. Raises UserError if it cannot be used, whatever a user's own one raises."""
        key = find_key(target, self._secrets)
        try:
            with attribute_bugs(target, self._connect):
                return self._connect(self._limit(target), key, self.catalog)
        except ConnectorBroken as broken:
            what = str(broken)
        raise UserError(Problem(what, f"model `{target.model}`"))

    def _sender(self, target: Target) -> Sender:
        sender = self._senders.get(target.model)
        if sender is None:
            connector = self._open(target)
            self._closing.push_async_callback(_close, target, connector)
            limiter = self._scopes.limiter(target)
            sender = Sender(connector, target, limiter, self._backoff, self.in_flight, self.run_budget)
            if isinstance(connector, HeaderReporting):
                connector.overhear(sender.read_headers)
            if isinstance(connector, SessionMemory):
                self._remembering[target.model] = connector
                if self._sessions is not None:
                    _keep_sessions(connector, self._sessions, target.model)
            self._senders[target.model] = sender
        return sender


async def _close(target: Target, connector: Connector) -> None:
    try:
        with attribute_bugs(target, connector):
            await connector.close()
    except ConnectorBroken as broken:  # everything has landed
        logging.getLogger(__name__).warning("%s", broken)


def _keep_sessions(connector: SessionMemory, folder: Path, model: str) -> None:
    # imports aiohttp, which only HTTP connectors need
    from biasgrid.tasks.connectors.client.session_state import SessionFolder

    connector.keep(SessionFolder(folder, model))
