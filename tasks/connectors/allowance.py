"""What a whole run may send and spend: asked before every attempt, a retry's and a judge's included."""

from __future__ import annotations

import asyncio

from catalogs.models import Target
from tasks.connectors.base import CapReached, Reply, Request
from tasks.connectors.prices import cost_usd

BYTES_PER_TOKEN = 2
"""Fewer than texts of any script have on average, so that what is reserved covers what is charged."""
TOKENS_AROUND = 16
"""What a chat's protocol adds to a message, at most."""
UNSET_MAX_TOKENS = 1_000
"""Output tokens that are reserved where the request sets no limit."""


class Allowance:
    """The caps of a run and what it has used up; shared by all its models. Of one event loop.

    Money is reserved before a request is sent, as much as it can cost, and settled by what it did cost: what is
    spent and reserved together never exceeds the cap.
    """

    def __init__(
        self, max_requests: int | None = None, max_cost: float | None = None, sent: int = 0, cost: float = 0.0
    ) -> None:
        self.max_requests = max_requests
        self.max_cost = max_cost
        self.sent = sent
        """Requests sent, those of earlier passes over the run included."""
        self.cost = cost
        """US dollars; of a request whose reply was lost, the most it can have cost."""
        self.reached: CapReached | None = None
        """Why nothing further is sent."""
        self._reserved = 0.0
        self._open = 0
        self._settled = asyncio.Event()

    @property
    def requests_left(self) -> int | None:
        """None where requests are not capped."""
        return None if self.max_requests is None else max(0, self.max_requests - self.sent)

    @property
    def cost_left(self) -> float | None:
        """US dollars neither spent nor reserved; None where money is not capped."""
        return None if self.max_cost is None else max(0.0, self.max_cost - self.cost - self._reserved)

    async def take(self, most_usd: float) -> bool:
        """Counts one request and reserves what it can cost, or says that a cap is reached. What is in flight may
        turn out to cost less than is reserved, and is waited for."""
        while self.reached is None:
            if self.requests_left == 0:
                self.reached = self._no_request_left()
            elif self._affords(most_usd):
                self._reserve(most_usd)
                return True
            elif self._open:
                self._settled.clear()
                await self._settled.wait()
            else:
                self.reached = self._no_money_left(most_usd)
        return False

    def settle(self, reserved_usd: float, cost_usd: float) -> None:
        """One request has come to its end."""
        self._open -= 1
        self._reserved = self._reserved - reserved_usd if self._open else 0.0
        self.cost += cost_usd
        self._settled.set()

    def count(self, requests: int, cost_usd: float) -> None:
        """What was sent and spent by other ways, such as a batch."""
        self.sent += requests
        self.cost += cost_usd

    def _affords(self, most_usd: float) -> bool:
        return self.max_cost is None or self.cost + self._reserved + most_usd <= self.max_cost

    def _reserve(self, most_usd: float) -> None:
        self.sent += 1
        self._open += 1
        self._reserved += most_usd

    def _no_request_left(self) -> CapReached:
        return CapReached(
            f"the cap of {self.max_requests:,} requests is reached: {self.sent:,} were sent; "
            "`biasgrid resume RUN --max-requests N` goes on with a higher one"
        )

    def _no_money_left(self, most_usd: float) -> CapReached:
        return CapReached(
            f"the cap of ${self.max_cost:,.2f} is reached: ${self.cost:,.4f} was spent, and the next request can "
            f"cost ${most_usd:,.4f}; `biasgrid resume RUN --max-cost USD` goes on with a higher one"
        )


def most_usd(request: Request, target: Target) -> float:
    """The most that one request can cost, as far as that is known before; 0 where the target has no price."""
    if target.prices is None:
        return 0.0
    size = sum(len(message.content.encode(errors="replace")) for message in request.messages)
    around = TOKENS_AROUND * len(request.messages)
    bound = Reply(
        "",
        input_tokens=-(-size // BYTES_PER_TOKEN) + around,
        output_tokens=request.parameters.max_tokens or UNSET_MAX_TOKENS,
    )
    return cost_usd(bound, target.prices) or 0.0
