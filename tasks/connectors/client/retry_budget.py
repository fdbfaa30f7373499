"""What stops a model that fails again and again: the rest of its requests would fail in the same way."""

from __future__ import annotations

from biasgrid.tasks.connectors.api import ConnectorError, KeptFailing, Reply, RequestRejected, Terminal

START = 20.0
PER_REQUEST = 2.0
"""A provider that fails two of three attempts is still asked to the end; one that fails them all is asked three
times for each, however many `retries` there are."""
OF_REFUSED = 0.25
"""What a 429 costs: it was turned away at the door, computed nothing and cost nobody anything."""


class RetryBudget:
    """Of one cell: grows with each of its requests and is spent by those that are sent again."""

    __slots__ = ("_left",)

    def __init__(self, start: float = START) -> None:
        self._left = start

    def grow(self) -> None:
        """One more request is asked."""
        self._left += PER_REQUEST

    def spend(self, *, refused: bool) -> bool:
        """Whether one may be sent again, which is then counted."""
        price = OF_REFUSED if refused else 1.0
        if self._left < price:
            return False
        self._left -= price
        return True


REJECTIONS = 10
"""In a row. A parameter that a model does not take rejects them all; prompts that are too long come singly."""
FAILURES = 20


class Breaker:
    """Counts one model's final failures since its last success."""

    def __init__(self, model: str, concurrency: int) -> None:
        self._model = model
        self._most_failures = max(FAILURES, 2 * concurrency)
        self._rejections = 0
        self._failures = 0

    def heard(self, outcome: Reply | ConnectorError) -> KeptFailing | None:
        """Told what became of each request in the end; the reason to stop where there are too many failures."""
        if isinstance(outcome, Reply):
            self._rejections = self._failures = 0
            return None
        if isinstance(outcome, RequestRejected):
            self._rejections += 1
            return self._stop(self._rejections, REJECTIONS, "rejected", outcome)
        if isinstance(outcome, Terminal):
            return None
        self._failures += 1
        return self._stop(self._failures, self._most_failures, "not answered, for all their retries", outcome)

    def _stop(self, count: int, most: int, fate: str, last: ConnectorError) -> KeptFailing | None:
        if count < most:
            return None
        return KeptFailing(
            f"`{self._model}`: stopped after {count} requests in a row were {fate}; the last error: {last}; "
            "`biasgrid resume` goes on once that is mended"
        )
