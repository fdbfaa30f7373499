"""Caps on requests and cost of a whole run, checked before every attempt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

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


class RunBudget:
    """Caps and usage of a run, shared by all its models on one event loop."""

    # The most that a request can cost is reserved before it is sent, then replaced by its cost. So the cap
    # holds unless a reply without `max_tokens` exceeds the longest of its model so far (at least
    # UNSET_MAX_TOKENS or UNLIMITED_TOKENS).

    def __init__(
        self, max_requests: int | None = None, max_cost: float | None = None, sent: int = 0, cost: float = 0.0
    ) -> None:
        self.max_requests = max_requests
        self.max_cost = max_cost
        self.sent = sent
        """Requests sent, including earlier passes over the run."""
        self.cost = cost
        """US dollars; for a request whose reply was lost, the most it can have cost."""
        self.reached: CapReached | None = None
        """Why no further request is sent."""
        self.jobs: dict[str, Reservation] = {}
        """Reservations of batches that may still bring replies, by job id."""
        self.longest: dict[str, int] = {}
        """Output tokens of the longest reply so far, by model."""
        self.notify: Callable[[str], None] = lambda _: None
        """Receives a message when batches reserve money."""
        self._reported: set[str] = set()
        self._unsent = 0
        self._reserved = 0.0
        self._holds = self._awaited = 0
        self._changed = asyncio.Event()
        self._in_rest = asyncio.Lock()

    @property
    def requests_left(self) -> int | None:
        """Requests neither sent nor reserved; None without a cap."""
        return None if self.max_requests is None else max(0, self.max_requests - self.sent - self._unsent)

    @property
    def cost_left(self) -> float | None:
        """US dollars neither spent nor reserved; None without a cap."""
        return None if self.max_cost is None else max(0.0, self.max_cost - self.cost - self._reserved)

    async def take(self, most_usd: float) -> Reservation | None:
        """Reserves one request and its cost, None at a cap; waits for reservations that may be returned."""
        while self.reached is None:
            lacks_requests = self.requests_left == 0
            spent = self.cost + self._reserved + most_usd
            if not lacks_requests and (self.max_cost is None or spent <= self.max_cost):
                return Reservation(self, 1, most_usd)
            if self._unsent if lacks_requests else self._awaited:
                self.report_waiting()
                self._changed.clear()
                await self._changed.wait()
            else:
                self.reached = self._cap_error(None if lacks_requests else most_usd)
                self._changed.set()
        return None

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
    async def rest(self, requests: int) -> AsyncIterator[Reservation]:
        """Reserves all that is left, at most `requests`, until the caller knows its need; one at a time."""
        async with self._in_rest:
            left = self.requests_left
            hold = Reservation(self, requests if left is None else min(requests, left), self.cost_left or 0.0)
            try:
                yield hold
            finally:
                if not hold.is_kept:
                    hold.end()

    def reserve_job(self, job_id: str, requests: int, most_usd: float, *, awaited: bool = True) -> None:
        """Reserves the cost of a submitted batch, even beyond the cap; `awaited`: it should end in this pass."""
        hold = self.jobs[job_id] = Reservation(self, requests, most_usd)
        hold.send()
        if not awaited:
            hold.unawait()

    def count(self, requests: int, cost_usd: float) -> None:
        """Counts requests and cost of other processes; negative amounts are returned."""
        self.sent += requests
        self.cost += cost_usd
        self._changed.set()

    def record_length(self, model: str, output_tokens: int | None) -> None:
        """Records the length of a reply, as the model's next replies may be as long."""
        self.longest[model] = max(self.longest.get(model, 0), output_tokens or 0)

    def most_usd(self, request: Request, target: Target) -> float:
        """The most that a request can cost, given its model's longest reply."""
        return most_usd(request, target, self.longest.get(target.model, 0))

    def _set_aside(self, holds: int, awaited: int, unsent: int, usd: float) -> None:
        self._holds += holds
        self._awaited += awaited
        self._unsent += unsent
        self._reserved = self._reserved + usd if self._holds else 0.0
        self._changed.set()

    def _cap_error(self, most_usd: float | None) -> CapReached:
        """The error at the cap of requests or, for a request that can cost `most_usd`, of cost."""
        if most_usd is None:
            return CapReached(
                f"the cap of {self.max_requests:,} requests is reached: {self.sent:,} were sent; "
                "`biasgrid resume RUN --max-requests N` continues with a higher one"
            )
        reserved = f", {format_usd(self._reserved)} is reserved for batches under way" if self._reserved else ""
        return CapReached(
            f"the cap of {format_usd(self.max_cost or 0.0)} is reached: {format_usd(self.cost)} was spent"
            f"{reserved}, and the next request can cost {format_usd(most_usd)}; "
            "`biasgrid resume RUN --max-cost USD` continues with a higher one"
        )


class Reservation:
    """A reservation in a run's budget, until its request or batch has ended."""

    def __init__(self, run_budget: RunBudget, requests: int, most_usd: float) -> None:
        self.requests = requests
        self.most_usd = most_usd
        self.is_kept = False
        self._run_budget = run_budget
        self.is_sent = False
        self._is_over = False
        self._is_awaited = True
        run_budget._set_aside(1, 1, requests, most_usd)

    def keep(self, requests: int, most_usd: float) -> None:
        """Reduces the reservation to what is needed."""
        self._run_budget._set_aside(0, 0, requests - self.requests, most_usd - self.most_usd)
        self.requests, self.most_usd = requests, most_usd
        self.is_kept = True

    def send(self, *, is_sent: bool = True) -> None:
        """Marks its requests as sent or, after a refusal, as not sent."""
        if self.is_sent != is_sent:
            self.is_sent = is_sent
            sent = self.requests if is_sent else -self.requests
            self._run_budget.sent += sent
            self._run_budget._set_aside(0, 0, -sent, 0.0)

    def unawait(self) -> None:
        """Marks its end as not expected in this pass, so that no request waits for it."""
        if self._is_awaited and not self._is_over:
            self._is_awaited = False
            self._run_budget._set_aside(0, -1, 0, 0.0)

    def end(self, cost_usd: float = 0.0) -> None:
        """Ends the reservation with its cost; requests that were not sent are returned."""
        if not self._is_over:
            self._is_over = True
            self._run_budget.cost += cost_usd
            unsent = 0 if self.is_sent else self.requests
            self._run_budget._set_aside(-1, -self._is_awaited, -unsent, -self.most_usd)


def most_usd(request: Request, target: Target, longest: int = 0) -> float:
    """The most US dollars that a request can cost, 0 without a price; `longest`: longest reply in tokens."""
    if target.prices is None:
        return 0.0
    size = sum(len(message.content.encode(errors="replace")) for message in request.messages)
    assumed = UNSET_MAX_TOKENS if "max_tokens" in target.parameters else UNLIMITED_TOKENS
    sent = -(-size // BYTES_PER_TOKEN) + TOKENS_AROUND * len(request.messages)
    received = request.parameters.max_tokens or max(assumed, longest)
    return list_price(target.prices, sent, received)
