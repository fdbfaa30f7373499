"""Caps on requests and cost of a whole run, checked before every attempt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import CapReached, Request
from biasgrid.tasks.connectors.usage import format_usd, list_price

BYTES_PER_TOKEN = 2
"""Below the average of texts in any script, so that the reservation covers the charge."""
TOKENS_AROUND = 16
"""Most tokens that a chat protocol adds to a message."""
UNSET_MAX_TOKENS = 1_000
"""Output tokens reserved if the request sets no limit."""
UNLIMITED_TOKENS = 8_000
"""Output tokens reserved for models that accept no limit, which are those that reason before they answer."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What a model is expected to be sent: number of requests, and their cost in US dollars."""

    requests: int
    cost_usd: float = 0.0
    is_first: bool = False
    """Whether what the others are asked depends on it: it has no share, and its plan is left out of theirs."""

    def __add__(self, other: Planned) -> Planned:
        is_first = self.is_first and other.is_first
        return Planned(self.requests + other.requests, self.cost_usd + other.cost_usd, is_first)


@dataclass(slots=True, eq=False)
class Purse:
    """Caps on requests and cost, and what is used and reserved of them: of a run, or of a model's share."""

    max_requests: int | None = None
    max_cost: float | None = None
    sent: int = 0
    """Requests sent, including earlier passes over the run."""
    cost: float = 0.0
    """US dollars; for a request whose reply was lost, the most it can have cost."""
    reached: CapReached | None = None
    """Why no further request is sent."""
    _unsent: int = 0
    _reserved: float = 0.0
    _holds: int = 0
    _awaited: int = 0

    @property
    def requests_left(self) -> int | None:
        """Requests neither sent nor reserved; None without a cap."""
        return None if self.max_requests is None else max(0, self.max_requests - self.sent - self._unsent)

    @property
    def cost_left(self) -> float | None:
        """US dollars neither spent nor reserved; None without a cap."""
        return None if self.max_cost is None else max(0.0, self.max_cost - self.cost - self._reserved)

    def covers(self, most_usd: float) -> bool:
        """Whether it has the money for a request that can cost so much."""
        return self.max_cost is None or self.cost + self._reserved + most_usd <= self.max_cost

    def may_grow(self) -> bool:
        """Whether reservations may be returned, of requests if none is left, else of money."""
        return bool(self._unsent if self.requests_left == 0 else self._awaited)

    def set_aside(self, holds: int, awaited: int, unsent: int, usd: float) -> None:
        self._holds += holds
        self._awaited += awaited
        self._unsent += unsent
        self._reserved = self._reserved + usd if self._holds else 0.0


@dataclass(slots=True, eq=False)
class Share(Purse):
    """A model's part of the caps of a run."""

    is_too_small: bool = False
    """Whether it ended before the caps of the run."""

    def covers(self, most_usd: float) -> bool:
        # A reservation may be larger than a share, and the cost is mostly far below it: one request at a time is
        # sent until the share is spent.
        within = not self._reserved and self.max_cost is not None and self.cost < self.max_cost
        return within or Purse.covers(self, most_usd)  # slots make a new class, which `super` does not know


class RunBudget(Purse):
    """Caps and usage of a run, shared by all its models on one event loop."""

    # The most that a request can cost is reserved before it is sent, then replaced by its cost. So the cap
    # holds unless a reply without `max_tokens` exceeds the longest of its model so far (at least
    # UNSET_MAX_TOKENS or UNLIMITED_TOKENS).

    def __init__(
        self, max_requests: int | None = None, max_cost: float | None = None, sent: int = 0, cost: float = 0.0
    ) -> None:
        super().__init__(max_requests, max_cost, sent, cost)
        self.jobs: dict[str, Reservation] = {}
        """Reservations of batches that may still bring replies, by job id."""
        self.longest: dict[str, int] = {}
        """Output tokens of the longest reply so far, by model."""
        self.notify: Callable[[str], None] = lambda _: None
        """Receives a message when batches reserve money."""
        self.changed = asyncio.Event()
        self._shares: dict[str, Share] = {}
        self._reported: set[str] = set()
        self._in_rest = asyncio.Lock()

    @property
    def is_capped(self) -> bool:
        return self.max_requests is not None or self.max_cost is not None

    @property
    def waiting(self) -> set[str]:
        """Models that have used up their shares while the run has requests and money left."""
        is_over = self.reached is not None or self.requests_left == 0
        return set() if is_over else {model for model, share in self._shares.items() if share.is_too_small}

    def share_out(self, planned: Mapping[str, Planned]) -> None:
        """Gives each model that plans requests its part of what is left of the caps, in proportion to its plan.

        Again, gives what the others have left to those that wait for more."""
        first = sum((plan for plan in planned.values() if plan.is_first), Planned(0))
        asking = {
            model: plan
            for model, plan in planned.items()
            if plan.requests and not plan.is_first and (not self._shares or model in self.waiting)
        }
        count = None if self.requests_left is None else max(0, self.requests_left - first.requests)
        requests = divide(count, {model: plan.requests for model, plan in asking.items()})
        left = None if self.cost_left is None else max(0.0, self.cost_left - first.cost_usd)
        money = sum(plan.cost_usd for plan in asking.values())
        self._shares = {
            model: Share(requests.get(model), None if left is None or not money else left * plan.cost_usd / money)
            for model, plan in asking.items()
        }

    def reached_by(self, model: str) -> CapReached | None:
        """Why a model sends no further request."""
        share = self._shares.get(model)
        return self.reached or (share.reached if share else None)

    async def take(self, most_usd: float, model: str = "") -> Reservation | None:
        """Reserves one request and its cost, None at a cap; waits for reservations that may be returned."""
        while self.reached_by(model) is None:
            purses = self._purses(model)
            lacking = [purse for purse in purses if purse.requests_left == 0 or not purse.covers(most_usd)]
            if not lacking:
                return Reservation(self, purses, 1, most_usd)
            empty = next((purse for purse in lacking if not purse.may_grow()), None)
            if empty is None:
                self.report_waiting()
                self.changed.clear()
                await self.changed.wait()
            else:
                self._end(empty, most_usd, self._shares.get(model))
        return None

    def _end(self, empty: Purse, most_usd: float, share: Share | None) -> None:
        lacks_requests = empty.requests_left == 0
        # other models may have cheaper requests
        ended = empty if lacks_requests else share or empty
        ended.reached = self._cap_error(empty, None if lacks_requests else most_usd)
        if share is not None:
            share.is_too_small = empty is share
        self.changed.set()

    def report_waiting(self) -> None:
        """Reports, once per set of batches, that money is reserved for batches."""
        # Batches take hours, requests take seconds.
        if self.max_cost is None or self.requests_left == 0 or not self.jobs.keys() - self._reported:
            return
        self._reported.update(self.jobs)
        reserved = sum(hold.most_usd for hold in self.jobs.values())
        self.notify(
            f"waiting for money: {format_usd(reserved)} of the cap of {format_usd(self.max_cost)} is reserved for "
            "batches under way, and what they do not cost is free when they end"
        )

    @asynccontextmanager
    async def rest(self, requests: int, one_usd: float = 0.0, model: str = "") -> AsyncIterator[Reservation]:
        """Reserves all that a model may have, at most `requests`, until the caller knows its need; one at a time.

        `one_usd`: the most that the first of them can cost."""
        async with self._in_rest:
            purses = self._purses(model)
            requests = min(
                [requests, *(purse.requests_left for purse in purses if purse.requests_left is not None)]
            )
            money = [purse.cost_left for purse in purses if purse.cost_left is not None]
            if requests and money and all(purse.covers(one_usd) for purse in purses):
                money = [self.cost_left or 0.0, max(min(money), one_usd)]
            hold = Reservation(self, purses, requests, min(money, default=0.0))
            try:
                yield hold
            finally:
                if not hold.is_kept:
                    hold.end()

    def reserve_job(
        self, job_id: str, requests: int, most_usd: float, model: str = "", *, awaited: bool = True
    ) -> None:
        """Reserves the cost of a submitted batch, even beyond the cap; `awaited`: it should end in this pass."""
        hold = self.jobs[job_id] = Reservation(self, self._purses(model), requests, most_usd)
        hold.send()
        if not awaited:
            hold.unawait()

    def count(self, requests: int, cost_usd: float, model: str = "") -> None:
        """Counts requests and cost of other processes; negative amounts are returned."""
        for purse in self._purses(model):
            purse.sent += requests
            purse.cost += cost_usd
        self.changed.set()

    def record_length(self, model: str, output_tokens: int | None) -> None:
        """Records the length of a reply, as the model's next replies may be as long."""
        self.longest[model] = max(self.longest.get(model, 0), output_tokens or 0)

    def most_usd(self, request: Request, target: Target) -> float:
        """The most that a request can cost, given its model's longest reply."""
        return most_usd(request, target, self.longest.get(target.model, 0))

    def _purses(self, model: str) -> tuple[Purse, ...]:
        share = self._shares.get(model)
        return (self, share) if share else (self,)

    def _cap_error(self, empty: Purse, most_usd: float | None) -> CapReached:
        """The error at the cap of requests or, for a request that can cost `most_usd`, of cost."""
        part = "" if empty is self else "this model's share of "
        if most_usd is None:
            return CapReached(
                f"{part}the cap of {self.max_requests:,} requests is reached: {empty.sent:,} were sent; "
                "`biasgrid resume RUN --max-requests N` continues with a higher one"
            )
        reserved = f", {format_usd(empty._reserved)} is reserved for batches under way" if empty._reserved else ""
        return CapReached(
            f"{part}the cap of {format_usd(self.max_cost or 0.0)} is reached: {format_usd(empty.cost)} was spent"
            f"{reserved}, and the next request can cost {format_usd(most_usd)}; "
            "`biasgrid resume RUN --max-cost USD` continues with a higher one"
        )


def divide(whole: int | None, weights: Mapping[str, int]) -> dict[str, int]:
    """Splits a number in proportion to weights, largest remainders first; empty if there is none to split."""
    total = sum(weights.values())
    if whole is None or not total:
        return {}
    parts = {name: whole * weight // total for name, weight in weights.items()}
    by_remainder = sorted(weights, key=lambda name: -(whole * weights[name] % total))
    for name in by_remainder[: whole - sum(parts.values())]:
        parts[name] += 1
    return parts


class Reservation:
    """A reservation in a run's budget, until its request or batch has ended."""

    def __init__(self, run_budget: RunBudget, purses: Sequence[Purse], requests: int, most_usd: float) -> None:
        self.requests = requests
        self.most_usd = most_usd
        self.is_kept = False
        self._run_budget = run_budget
        self._purses = purses
        self.is_sent = False
        self._is_over = False
        self._is_awaited = True
        self._set_aside(1, 1, requests, most_usd)

    def keep(self, requests: int, most_usd: float) -> None:
        """Reduces the reservation to what is needed."""
        self._set_aside(0, 0, requests - self.requests, most_usd - self.most_usd)
        self.requests, self.most_usd = requests, most_usd
        self.is_kept = True

    def send(self, *, is_sent: bool = True) -> None:
        """Marks its requests as sent or, after a refusal, as not sent."""
        if self.is_sent != is_sent:
            self.is_sent = is_sent
            sent = self.requests if is_sent else -self.requests
            for purse in self._purses:
                purse.sent += sent
            self._set_aside(0, 0, -sent, 0.0)

    def unawait(self) -> None:
        """Marks its end as not expected in this pass, so that no request waits for it."""
        if self._is_awaited and not self._is_over:
            self._is_awaited = False
            self._set_aside(0, -1, 0, 0.0)

    def end(self, cost_usd: float = 0.0) -> None:
        """Ends the reservation with its cost; requests that were not sent are returned."""
        if not self._is_over:
            self._is_over = True
            for purse in self._purses:
                purse.cost += cost_usd
            unsent = 0 if self.is_sent else self.requests
            self._set_aside(-1, -self._is_awaited, -unsent, -self.most_usd)

    def _set_aside(self, holds: int, awaited: int, unsent: int, usd: float) -> None:
        for purse in self._purses:
            purse.set_aside(holds, awaited, unsent, usd)
        self._run_budget.changed.set()


def most_usd(request: Request, target: Target, longest: int = 0) -> float:
    """The most US dollars that a request can cost, 0 without a price; `longest`: longest reply in tokens."""
    if target.prices is None:
        return 0.0
    size = sum(len(message.content.encode(errors="replace")) for message in request.messages)
    assumed = UNSET_MAX_TOKENS if "max_tokens" in target.parameters else UNLIMITED_TOKENS
    sent = -(-size // BYTES_PER_TOKEN) + TOKENS_AROUND * len(request.messages)
    received = request.parameters.max_tokens or max(assumed, longest)
    return list_price(target.prices, sent, received)
