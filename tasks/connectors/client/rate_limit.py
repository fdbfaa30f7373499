"""Concurrency, request and token limits of models, per model or shared."""

from __future__ import annotations

import asyncio
from collections import deque

from biasgrid.catalogs.schema.models import Limits
from biasgrid.tasks.connectors.client.adaptive_rate import AdaptiveRate
from biasgrid.tasks.connectors.client.rate_limit_headers import StatedLimits
from biasgrid.tasks.connectors.client.token_bucket import TokenBucket

LONGEST_STATED_HOLD_S = 60.0
"""Limits are per minute; a longer wait is requested by a 429."""


class Slots:
    """Slots for concurrent requests, assigned in turn to the models that wait."""

    def __init__(self, capacity: int) -> None:
        self._free = capacity
        self._capacity = capacity
        self._in_line: deque[Limiter] = deque()

    @property
    def taken(self) -> int:
        return self._capacity - self._free

    def resize(self, capacity: int) -> None:
        """Sets the capacity; requests in flight beyond a smaller capacity still complete."""
        self._free += capacity - self._capacity
        self._capacity = capacity
        self._offer()

    def take(self) -> bool:
        if self._free <= 0:
            return False
        self._free -= 1
        return True

    def release(self) -> None:
        self._free += 1
        self._offer()

    def enrol(self, limiter: Limiter) -> None:
        """Adds a model that waits for a slot."""
        self._in_line.append(limiter)

    def _offer(self) -> None:
        while self._free > 0 and self._in_line:
            self._in_line.popleft().receive_offer()


class RequestRate:
    """Requests per minute, with the adaptive rate learnt from refused requests."""

    def __init__(self, per_minute: float | None) -> None:
        self.rate = TokenBucket(per_minute, unit=1.0)
        self.pace = AdaptiveRate()
        self.held_until = 0.0

    def hold(self, until: float) -> None:
        """Sends no request before `until`."""
        self.held_until = max(self.held_until, until)

    def record(self, sent_at: float, asked_s: float | None, now: float) -> None:
        """Updates the adaptive rate with a request that was accepted, or refused for `asked_s` seconds."""
        if not (self.pace.accept(sent_at, now) if asked_s is None else self.pace.refuse(sent_at, asked_s, now)):
            return
        found = self.pace.per_second
        self.rate.limit("found", None if found is None else 60 * found, now)
        self.hold(self.pace.held_until)


class Limiter:
    """First-come queue of one model, on one event loop."""

    # Only the first in the queue reserves its place in the rates, so that a model waiting for its own rate
    # blocks no slot.

    def __init__(self, slots: Slots, requests: RequestRate, tokens: TokenBucket) -> None:
        self.slots = slots
        self.requests = requests
        self.tokens = tokens
        self._queue: deque[tuple[asyncio.Future[None], float]] = deque()
        self._due: float | None = None
        self._enrolled = False
        self._alarm: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @classmethod
    def alone(cls, limits: Limits) -> Limiter:
        """A limiter that shares nothing with other models."""
        return cls(
            Slots(limits.concurrency),
            RequestRate(limits.requests_per_minute),
            TokenBucket(limits.tokens_per_minute),
        )

    @property
    def counts_tokens(self) -> bool:
        return self.tokens.per_second is not None

    def now(self) -> float:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop.time()

    async def enter(self, tokens: float = 0.0) -> float:
        """Waits for a slot and the rates and returns the time; `leave` releases the slot."""
        now = self.now()
        if self._queue or not self._may_go(tokens, now):
            await self._turn(tokens)
            now = self.now()
        return now

    def leave(self) -> None:
        self.slots.release()

    def give_back(self, tokens: float) -> None:
        """Returns the reserved request and tokens after nothing was sent."""
        self.requests.rate.correct(-1.0)
        self.tokens.correct(-tokens)

    def record(self, sent_at: float, asked_s: float | None = None) -> None:
        """Records a request that was accepted, or refused for `asked_s` seconds."""
        self.requests.record(sent_at, asked_s, self.now())

    def apply(self, stated: StatedLimits) -> None:
        """Applies the limits that a reply states."""
        now = self.now()
        if stated.requests_per_minute is not None:
            self.requests.rate.limit("stated", stated.requests_per_minute, now)
        if stated.tokens_per_minute is not None:
            self.tokens.limit("stated", stated.tokens_per_minute, now)
        if stated.hold_s > 0:
            self.requests.hold(now + min(stated.hold_s, LONGEST_STATED_HOLD_S))

    def receive_offer(self) -> None:
        """Tries to send the first in the queue, as a slot is free."""
        self._enrolled = False
        self._pump()

    async def _turn(self, tokens: float) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((turn, tokens))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # cancelled after its slot was assigned
                self.give_back(tokens)
                self.slots.release()
            self._pump()
            raise

    def _may_go(self, tokens: float, now: float) -> bool:
        """Takes a slot for the first in the queue, or schedules its next check."""
        if self._due is None:
            self._due = max(self.requests.rate.reserve(1.0, now), self.tokens.reserve(tokens, now))
        due = max(self._due, self.requests.held_until)
        if due > now:
            self._wake_at(due)
            return False
        if not self.slots.take():
            if not self._enrolled:
                self._enrolled = True
                self.slots.enrol(self)
            return False
        self._due = None
        return True

    def _pump(self) -> None:
        while self._queue:
            turn, tokens = self._queue[0]
            if turn.done():  # cancelled while it waited
                self._queue.popleft()
                if self._due is not None:
                    self._due = None
                    self.give_back(tokens)
            elif self._may_go(tokens, self.now()):
                self._queue.popleft()
                turn.set_result(None)
            else:
                return

    def _wake_at(self, due: float) -> None:
        if self._alarm is not None:
            if self._alarm.when() <= due:
                return
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_at(due, self._wake)

    def _wake(self) -> None:
        self._alarm = None
        self._pump()
