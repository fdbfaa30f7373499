"""Retry policy: decides whether and when a request to a provider is repeated."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.tasks.connectors.api import ConnectorError, ModelStopped, RateLimited, Terminal, Transient

START = 20.0
PER_REQUEST = 2.0
"""A provider may fail two of three attempts; one that always fails gets about three attempts per request."""
PER_REFUSAL = 0.25
"""The cost of a 429, for which nothing was computed."""


class RetryBudget:
    """Retry budget of one cell: grows with each request and shrinks with each retry."""

    def __init__(self, start: float = START) -> None:
        self._left = start

    def grow(self) -> None:
        """Adds one request."""
        self._left += PER_REQUEST

    def spend(self, *, refused: bool) -> bool:
        """Whether one retry is allowed, which is then counted."""
        price = PER_REFUSAL if refused else 1.0
        if self._left < price:
            return False
        self._left -= price
        return True


@dataclass(frozen=True, slots=True)
class Backoff:
    """Wait before the next attempt: exponential with full jitter, on top of Retry-After."""

    first_s: float = 0.5
    longest_s: float = 30.0
    patience_s: float = 600.0
    """Seconds for which a model, and each of its requests, waits for a provider that refuses; a longer Retry-After
    stops the model."""
    outage_s: float = 120.0
    """Seconds for which a model waits for a provider that is away."""
    longest_probe_s: float = 60.0
    """Most seconds between two requests to a provider that is away."""
    alone_s: float = 5.0
    """Seconds that a model's other requests wait for its first reply, or for the server to list the model."""
    jitter: Callable[[float, float], float] = random.uniform
    notify: Callable[[str], None] = lambda _: None
    """Receives a message at the begin and the end of an outage."""

    def probe_s(self, probes: int) -> float:
        """Seconds between the `probes`-th request to a provider that is away and the next."""
        return min(self.longest_probe_s, 2.0 * self.first_s * 2.0 ** min(probes, 60))

    def wait_s(self, attempts: int, asked_s: float = 0.0) -> float:
        """Seconds to wait after `attempts` attempts, at least `asked_s`."""
        ceiling = min(self.longest_s, self.first_s * 2.0 ** (attempts - 1))
        return asked_s + self.jitter(0.0, ceiling)


@dataclass(slots=True)
class RequestRetries:
    """The attempts of one request; a 429 counts as a wait, not as one of its `retries`."""

    retries: int
    budget: RetryBudget | None
    failed: int = 0
    refused: int = 0
    waited_s: float = 0.0

    def wait_s(self, error: ConnectorError, backoff: Backoff) -> float | None:
        """Seconds until the retry, None for no retry."""
        if self.retries == 0 or not isinstance(error, Transient):
            return None
        wait_s = self._refusal(error, backoff) if isinstance(error, RateLimited) else self._failure(backoff)
        if wait_s is None or (self.budget and not self.budget.spend(refused=isinstance(error, RateLimited))):
            return None
        return wait_s

    def _refusal(self, error: RateLimited, backoff: Backoff) -> float | None:
        self.refused += 1
        wait_s = backoff.wait_s(self.refused, error.retry_after_s or 0.0)
        self.waited_s += wait_s
        return wait_s if self.waited_s - wait_s + (error.retry_after_s or 0.0) <= backoff.patience_s else None

    def _failure(self, backoff: Backoff) -> float | None:
        self.failed += 1
        return backoff.wait_s(self.failed) if self.failed <= self.retries else None


T = TypeVar("T")


def format_seconds(seconds: float) -> str:
    """`45 s`, `12 min`, `1.5 h`: to be read, not parsed."""
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 1 else f"{seconds:.1g} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def requested_wait_s(error: Transient) -> float:
    """Seconds that the provider asked to wait, else 0."""
    return (error.retry_after_s or 0.0) if isinstance(error, RateLimited) else 0.0


async def retry_transient(call: Callable[[], Awaitable[T]], wait_s: Callable[[Transient, int], float | None]) -> T:
    """The result of `call`, repeated on transient errors. Raises the last error once `wait_s` returns None."""
    # `wait_s` receives the error and the number of attempts.
    attempts = 0
    while True:
        try:
            return await call()
        except Transient as error:
            attempts += 1
            pause_s = wait_s(error, attempts)
            if pause_s is None:
                raise
        await asyncio.sleep(pause_s)


POLL = "BIASGRID_BATCH_POLL_S"
GROWTH = 1.5


class Unreachable(ModelStopped):
    """The provider has not answered for longer than a run waits."""

    word = "away"


@dataclass(frozen=True, slots=True)
class PollPolicy:
    first_s: float = 1.0
    """Seconds before the first poll of a job."""
    longest_s: float = 30.0
    """Most seconds between two polls."""
    outage_s: float = 600.0
    """Seconds for which a provider may fail to answer."""
    backoff: Backoff = field(default_factory=Backoff)
    notify: Callable[[str], None] = lambda _: None
    """Receives a message at the provider's first failure to answer."""
    remedy: str = "`biasgrid resume` collects it"
    """The remedy in the message of Unreachable, as a submitted job continues at the provider."""

    @classmethod
    def from_environment(cls) -> PollPolicy:
        """The policy, with the longest interval from `BIASGRID_BATCH_POLL_S`. Raises UserError if invalid."""
        given = os.environ.get(POLL)
        if not given:
            return cls()
        try:
            longest = float(given)
        except ValueError:
            longest = 0.0
        if not 0 < longest < 86_400:
            raise UserError(Problem(f"`{given}` is no number of seconds", POLL, "give one above 0, such as 30"))
        return cls(min(cls().first_s, longest), longest)

    def intervals(self) -> Iterator[float]:
        """Seconds to wait before each further poll."""
        interval = self.first_s
        while True:
            yield interval
            interval = min(interval * GROWTH, self.longest_s)

    async def call(self, call: Callable[[], Awaitable[T]]) -> T:
        """The result of `call`, repeated on transient errors. Raises Unreachable after `outage_s` of these."""
        began = time.monotonic()

        def wait_s(error: Transient, attempts: int) -> float:
            pause_s = self.backoff.wait_s(attempts, requested_wait_s(error))
            if time.monotonic() - began + pause_s > self.outage_s:
                raise Unreachable(f"{error}; what was submitted goes on: {self.remedy}") from None
            if attempts == 1:
                longest = (
                    f"{self.outage_s / 60:.0f} minutes" if self.outage_s >= 120 else f"{self.outage_s:g} seconds"
                )
                self.notify(f"{error}; tried again for up to {longest}")
            return pause_s

        return await retry_transient(call, wait_s)


class JobRefused(Exception):
    """The provider refused a job and created none; `why` is its error."""

    def __init__(self, why: Terminal) -> None:
        super().__init__(why)
        self.why = why


async def detect_refusal(call: Awaitable[T]) -> T:
    """The result of `call`. Raises JobRefused for an error that would occur again."""
    try:
        return await call
    except Unreachable:
        raise
    except Terminal as refused:
        raise JobRefused(refused) from None


class CreateOnce(Generic[T]):
    """Creates a job on the first call; later calls search for it first."""

    # A request that timed out or lost its connection may have created the job.

    def __init__(
        self, find: Callable[[], Awaitable[T | None]], create: Callable[[], Awaitable[T]], *, tried: bool = False
    ) -> None:
        self._find, self._create, self._tried = find, create, tried

    async def __call__(self) -> T:
        found = await self._find() if self._tried else None
        if found is not None:
            return found
        self._tried = True
        return await detect_refusal(self._create())
