"""The door to every model of a run: one connector and one queue per model, over limits that they share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from catalogs.mistakes import Mistake, UserMistake
from catalogs.models import Target
from tasks.connectors import registry
from tasks.connectors.allowance import Allowance
from tasks.connectors.base import Answer, ConnectorFactory, Overheard, Remembering, Request
from tasks.connectors.budget import RetryBudget
from tasks.connectors.flights import Flights
from tasks.connectors.keys import Secrets, find_key
from tasks.connectors.retries import Backoff, InFlight, Sender
from tasks.connectors.scopes import Scopes
from tasks.connectors.session_folder import SessionFolder

if TYPE_CHECKING:
    from catalogs.catalog import Catalog
    from tasks.connectors.batches import Batches

__all__ = ["Answer", "Switchboard"]


class Switchboard:
    """An async context manager, one per process and event loop; shared by everything that asks models.

    `shares`: whether the same request, asked twice, is sent once. One that belongs to a session is always
    sent: what its chatbot remembers makes it another. `sessions`: a folder where conversations are kept, so that
    they go on after a kill; None: with chatbots that remember by cookies, or by ids of their own, they do not.
    """

    def __init__(
        self,
        catalog: Catalog,
        secrets: Secrets | None = None,
        *,
        backoff: Backoff | None = None,
        allowance: Allowance | None = None,
        shares: bool = True,
        sessions: Path | None = None,
        connect: ConnectorFactory = registry.connect,
    ) -> None:
        self._catalog = catalog
        self._secrets = secrets
        self._backoff = backoff or Backoff()
        self.allowance = allowance
        """What the whole run may send and spend; None: as much as it takes."""
        self.shares = shares
        self._sessions = sessions
        self._connect = connect
        self._senders: dict[str, Sender] = {}
        self._remembering: dict[str, Remembering] = {}
        self._scopes = Scopes()
        self._flights: Flights[Answer] = Flights()
        self._repeated: dict[str, Answer | None] = {}
        self._closing = AsyncExitStack()
        self.in_flight: InFlight = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._senders.clear()
        await self._closing.aclose()

    def prepare(self, targets: Iterable[Target]) -> None:
        """Make every connector before the first request. Raises UserMistake with all that is wrong."""
        mistakes: list[Mistake] = []
        for target in targets:
            try:
                self._sender(target)
            except UserMistake as found:
                mistakes.extend(found.mistakes)
        if mistakes:
            raise UserMistake(dict.fromkeys(mistakes))

    def keep_sessions(self, folder: Path) -> None:
        """From now on conversations are kept there, so that they go on after a kill. Made when one is kept."""
        self._sessions = folder
        for model, connector in self._remembering.items():
            connector.keep(SessionFolder(folder, model))

    def expect(self, repeated: Mapping[str, Answer | None]) -> None:
        """Request keys that will be asked for more than once, with the answer where it is known: the reply to
        each is kept, so that it is sent once."""
        self._repeated |= repeated

    def grant(self, name: str, slots: int, total: int | None = None) -> None:
        """So many slots of a provider, or of a model with a concurrency of its own, are this process's, and the
        same part of what it may send a minute: of `total`, by default the catalog's concurrency. Within the
        event loop, before the first request or at any time after."""
        self._scopes.grant(name, slots, total)

    async def answer(
        self, target: Target, request: Request, retries: int, budget: RetryBudget | None = None
    ) -> Answer:
        """The model's answer, or the error after the last attempt; the error of a model that has stopped, at
        once. `budget` bounds what is sent again for all the requests that share it. Raises UserMistake where the
        target was not prepared and cannot be reached as described."""
        shares = self.shares and request.session is None
        known = self._repeated.get(request.request_key) if shares else None
        if known is not None:
            return replace(known, shared=True)
        sender = self._sender(target)
        if sender.stopped is not None:
            await asyncio.sleep(0)  # thousands of these in a row must not hold up the loop
        send = partial(sender.answer, request, retries, budget)
        if not shares:
            return await send()
        answer, shared = await self._flights.once(request.request_key, send)
        if request.request_key in self._repeated and answer.reply is not None:
            self._repeated[request.request_key] = answer
        return replace(answer, shared=True) if shared else answer

    async def forget(self, target: Target, session: str) -> None:
        """A conversation is over: nothing of it is kept any more."""
        connector = self._remembering.get(target.model)
        if connector is not None:
            await connector.forget(session)

    def batches(self, target: Target) -> Batches:
        """The batch API of a target's provider. Raises UserMistake where it has none that can be used."""
        from tasks.connectors import batches

        made = batches.connect(target, find_key(target, self._secrets))
        self._closing.push_async_callback(made.close)
        return made

    def _sender(self, target: Target) -> Sender:
        sender = self._senders.get(target.model)
        if sender is None:
            connector = self._connect(target, find_key(target, self._secrets), self._catalog)
            self._closing.push_async_callback(connector.close)
            limiter = self._scopes.limiter(target)
            sender = Sender(connector, target, limiter, self._backoff, self.in_flight, self.allowance)
            if isinstance(connector, Overheard):
                connector.overhear(sender.hear)
            if isinstance(connector, Remembering):
                self._remembering[target.model] = connector
                if self._sessions is not None:
                    connector.keep(SessionFolder(self._sessions, target.model))
            self._senders[target.model] = sender
        return sender
