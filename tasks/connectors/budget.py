"""How often a cell's requests may be sent again, all together."""

from __future__ import annotations

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
