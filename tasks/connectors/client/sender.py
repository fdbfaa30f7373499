"""Sends the requests of a model, with retries, limits and caps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import (
    Answer,
    Connector,
    ConnectorError,
    Disconnected,
    ModelListing,
    ModelStopped,
    NotConnected,
    ProviderAway,
    QuotaResting,
    RateLimited,
    Reply,
    Request,
    TimedOut,
)
from biasgrid.tasks.connectors.client.circuit_breaker import SILENCE_S, CircuitBreaker, is_away
from biasgrid.tasks.connectors.client.connector_bugs import attribute_bugs, check_reply
from biasgrid.tasks.connectors.client.rate_limit import Limiter
from biasgrid.tasks.connectors.client.rate_limit_headers import NO_LIMITS, read_stated_limits
from biasgrid.tasks.connectors.client.retry import Backoff, RequestRetries, RetryBudget
from biasgrid.tasks.connectors.client.run_budget import Reservation, RunBudget
from biasgrid.tasks.connectors.usage import cost_usd

InFlight = set[asyncio.Task[Any] | None]
"""Tasks whose request is sent and not yet answered."""

CHARACTERS_PER_TOKEN = 4
UNSET_REPLY_TOKENS = 60
"""Tokens assumed for a reply before its count is known."""
MAYBE_CHARGED = (TimedOut, Disconnected)
"""Errors after which the provider may have answered and charged."""


class Sender:
    """Sends requests to one model, each at most 1 + retries times, until the model stops for good."""

    def __init__(
        self,
        connector: Connector,
        target: Target,
        limiter: Limiter,
        backoff: Backoff,
        in_flight: InFlight,
        run_budget: RunBudget | None = None,
    ) -> None:
        self._connector = connector
        self._target = target
        self._timeout_s = target.limits.timeout_s
        self._limiter = limiter
        self._backoff = backoff
        self._in_flight = in_flight
        self._run_budget = run_budget
        self._breaker = CircuitBreaker(target.model, backoff)
        self._started = 0
        self._is_answered = asyncio.Event()
        self._stopped: ModelStopped | None = None
        self._answering_s = self._sending_s = 0.0

    @property
    def waiting_s(self) -> float:
        """Seconds for which its requests waited so far, of all that were answered together."""
        return max(self._answering_s - self._sending_s, 0.0)

    @property
    def stopped(self) -> ModelStopped | None:
        """The reason why no further request is sent, or None."""
        return self._stopped or (self._run_budget.reached_by(self._target.model) if self._run_budget else None)

    async def answer(self, request: Request, retries: int, budget: RetryBudget | None = None) -> Answer:
        """The answer, which holds any ConnectorError; passes cancellation on."""
        began = time.perf_counter()
        try:
            return await self._answer(request, retries, budget)
        finally:
            self._answering_s += time.perf_counter() - began

    async def _answer(self, request: Request, retries: int, budget: RetryBudget | None) -> Answer:
        attempts, latency_ms, last = 0, None, None
        tries = RequestRetries(retries, budget)
        if budget is not None:
            budget.grow()
        if self.stopped is None and not self._is_answered.is_set():
            await self._wait_for_first()
        while self.stopped is None:
            async with self._breaker.turn(lambda: self.stopped is not None) as is_probe:
                sent = None if self.stopped else await self._send_within_budget(request, is_probe=is_probe)
                if sent is None and self.stopped is None and self._breaker.is_open:
                    continue
                if sent is None:  # another task found the reason in the meantime
                    break
                outcome, latency_ms = sent
                given_up = self._breaker.record(outcome, is_first=attempts == 0)
            self._stopped = self._stopped or given_up
            last = None if given_up else outcome
            attempts += 1
            self._is_answered.set()
            wait_s = self._next(outcome, tries)
            if wait_s is None:
                reply, error = (outcome, None) if isinstance(outcome, Reply) else (None, outcome)
                return Answer(reply, error, attempts, latency_ms, datetime.now(UTC))
            await asyncio.sleep(wait_s)
        self._is_answered.set()  # the others would learn nothing by waiting
        # its own error shows whether it may be charged
        error = self.stopped
        if isinstance(error, ProviderAway) and isinstance(last, ConnectorError):
            error = last
        return Answer(None, error, attempts, latency_ms, datetime.now(UTC))

    def read_headers(self, headers: Mapping[str, str]) -> None:
        """Applies the limits in the headers of a reply of any status."""
        stated = read_stated_limits(headers)
        if stated is not NO_LIMITS:
            self._limiter.apply(stated)

    async def _wait_for_first(self) -> None:
        """Waits for the first reply, while the second request looks the model up."""
        # A wrong key then costs one request.
        place, self._started = self._started, self._started + 1
        if place == 0:
            return
        look_up = asyncio.create_task(self._look_up()) if place == 1 else None
        try:
            async with asyncio.timeout(self._backoff.alone_s):
                await self._is_answered.wait()
        except TimeoutError:
            pass
        finally:
            if look_up:
                look_up.cancel()

    async def _look_up(self) -> None:
        with suppress(ConnectorError):  # the first request will report the error
            if isinstance(self._connector, ModelListing) and await self._connector.is_listed():
                self._is_answered.set()

    async def _send_within_budget(
        self, request: Request, *, is_probe: bool = False
    ) -> tuple[Reply | ConnectorError, float] | None:
        """One attempt and its latency in milliseconds; None if the model has stopped, a cap is reached or the
        provider is away."""
        if self._run_budget is None:
            return await self._send_in_turn(request, is_probe=is_probe)
        most = self._run_budget.most_usd(request, self._target)
        hold = await self._run_budget.take(most, self._target.model)
        if hold is None:
            return None
        sent = None
        try:
            sent = await self._send_in_turn(request, hold, is_probe=is_probe)
        finally:
            broken_off = most if hold.is_sent else 0.0  # a cancelled request may have been answered
            hold.end(self._charge(sent[0], most) if sent else broken_off)
        return sent

    async def _send_in_turn(
        self, request: Request, hold: Reservation | None = None, *, is_probe: bool = False
    ) -> tuple[Reply | ConnectorError, float] | None:
        """One attempt within the limits; None if the model has stopped or its provider is away."""
        # A request that passed the cap is sent.
        limiter = self._limiter
        tokens = _expected_tokens(request) if limiter.counts_tokens else 0.0
        sent_at = await limiter.enter(tokens)
        try:
            if self._stopped is not None or (self._breaker.is_open and not is_probe):
                limiter.give_back(tokens)
                return None
            if hold is not None:
                hold.send()
            started = time.perf_counter()
            outcome = await self._attempt(request)
            latency_ms = (time.perf_counter() - started) * 1000
            self._sending_s += latency_ms / 1000
        finally:
            limiter.leave()
        self._record(outcome, sent_at, tokens)
        return outcome, latency_ms

    def _charge(self, outcome: Reply | ConnectorError, most: float) -> float:
        if isinstance(outcome, Reply):
            cost = cost_usd(outcome, self._target.prices)
            return most if cost is None else cost
        is_charged = isinstance(outcome, MAYBE_CHARGED) and not isinstance(outcome, NotConnected)
        return most if is_charged else 0.0

    async def _attempt(self, request: Request) -> Reply | ConnectorError:
        task = asyncio.current_task()
        self._in_flight.add(task)
        try:
            with attribute_bugs(self._target, self._connector):
                async with asyncio.timeout(self._timeout_s):
                    reply: object = await self._connector.ask(request)
            return check_reply(self._target, self._connector, reply)
        except ConnectorError as error:
            shown = self._beyond_patience(error) or error
            # thousands of answers are kept: a traceback keeps its frames alive, and the cause may contain a key
            shown.__cause__ = shown.__context__ = None
            return shown.with_traceback(None)
        except TimeoutError:
            model = self._target.model
            return TimedOut(f"`{model}`: no answer within {self._timeout_s:g} s; `timeout_s` sets the limit")
        finally:
            self._in_flight.discard(task)

    def _beyond_patience(self, error: ConnectorError) -> QuotaResting | None:
        """The error for a wait of hours, which would affect all requests."""
        asked_s = error.retry_after_s if isinstance(error, RateLimited) else None
        if asked_s is None or asked_s <= self._backoff.patience_s:
            return None
        wait = f"{asked_s / 3600:.1f} hours" if asked_s >= 5400 else f"{asked_s / 60:.0f} minutes"
        return QuotaResting(f"{error}; the provider asks to wait {wait}, then `biasgrid resume`")

    def _record(self, outcome: Reply | ConnectorError, sent_at: float, tokens: float) -> None:
        """Updates limits and budget with the outcome of an attempt."""
        if isinstance(outcome, Reply) and self._run_budget is not None:
            self._run_budget.record_length(self._target.model, outcome.output_tokens)
        if isinstance(outcome, RateLimited):
            self._limiter.record(sent_at, outcome.retry_after_s or 0.0)
            return
        self._limiter.record(sent_at)
        if isinstance(outcome, Reply) and outcome.input_tokens is not None and self._limiter.counts_tokens:
            self._limiter.tokens.correct(outcome.input_tokens + (outcome.output_tokens or 0) - tokens)

    def _next(self, outcome: Reply | ConnectorError, tries: RequestRetries) -> float | None:
        """Seconds until the next attempt, None if this was the last."""
        if isinstance(outcome, ModelStopped):
            self._stopped = self._stopped or outcome
            return None
        if isinstance(outcome, RateLimited) and self._stopped is not None:
            return None
        is_outage = tries.retries > 0 and is_away(outcome)
        if is_outage and (self._breaker.is_open or self._stopped is not None):
            return 0.0  # an outage is no failure of the request, whose turn comes
        wait_s = None if isinstance(outcome, Reply) else tries.wait_s(outcome, self._backoff)
        if wait_s is None and is_outage and self._breaker.is_in_doubt:
            return SILENCE_S
        if wait_s is None:
            self._stopped = self._breaker.conclude(outcome) or self._stopped
        return wait_s


def _expected_tokens(request: Request) -> float:
    """Tokens assumed for a request and its reply."""
    characters = sum(len(message.content) for message in request.messages)
    return characters / CHARACTERS_PER_TOKEN + (request.parameters.max_tokens or UNSET_REPLY_TOKENS)
