"""A bucket of requests or of tokens: what a minute may take, and what is left of it now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

Source = Literal["configured", "stated", "found"]

MINUTE_S = 60.0
JITTER_S = 0.2
"""Requests sent evenly arrive unevenly, so that a server's minute may hold a little more."""
BURST_S = 1.0
EVENLY_S = 0.1
"""Of a limit that was found out nothing is known: what a server admits at once may be little."""


class TokenBucket:
    """A bucket for the smallest of the configured, stated and found limits, on the event loop's clock.

    It fills evenly and holds one second's worth, so that no sixty seconds take more than the limit; what was taken
    before a server stated its limit counts. `unit` is the least that can be taken: 1 request, 0 tokens."""

    __slots__ = (
        "_burst",
        "_freely",
        "_freely_since",
        "_level",
        "_limits",
        "_per_s",
        "_share",
        "_touched",
        "_unit",
    )

    def __init__(self, per_minute: float | None, unit: float = 0.0) -> None:
        self._limits: dict[Source, float] = {}
        self._share = 1.0
        self._unit = unit
        self._level = 0.0
        self._touched = float("-inf")
        self._per_s: float | None = None
        self._burst = 0.0
        self._freely = 0.0
        self._freely_since = float("-inf")
        self.limit("configured", per_minute, 0.0)

    @property
    def per_second(self) -> float | None:
        """How fast it fills; None where nothing limits it."""
        return self._per_s

    def limit(self, source: Source, per_minute: float | None, now: float) -> None:
        """Sets what one source allows a minute; None: it does not limit."""
        if self._limits.get(source) == per_minute:
            return
        if per_minute is None:
            self._limits.pop(source, None)
        else:
            self._limits[source] = per_minute
        was_free = self._per_s is None
        self._settle(now)
        if was_free and source == "stated":
            self._level -= self._taken_freely(now)

    def share(self, share: float, now: float) -> None:
        """This process's part of what is configured or stated; what was found out is its own already."""
        self._share = share
        self._settle(now)

    def reserve(self, amount: float, now: float) -> float:
        """Takes `amount` and returns the moment from which it may be used; more than a burst waits longer."""
        if self._per_s is None:
            self._freely_since = now if self._freely == 0.0 else self._freely_since
            self._freely += amount
            return now
        self._fill(now)
        self._level -= amount
        return now if self._level >= -1e-9 else now - self._level / self._per_s

    def correct(self, amount: float) -> None:
        """What turned out to be taken beyond what was reserved; less than nothing is given back."""
        if self._per_s is None:
            self._freely = max(0.0, self._freely + amount)
        else:
            self._level -= amount

    def _taken_freely(self, now: float) -> float:
        """In the minute before `now`, as long as nothing was known to limit it; no more than a minute allows."""
        lately = self._freely * min(1.0, MINUTE_S / max(now - self._freely_since, 1e-9))
        return min(lately, MINUTE_S * (self._per_s or 0.0))

    def _fill(self, now: float) -> None:
        if self._per_s is not None:
            self._level = min(self._burst, self._level + (now - self._touched) * self._per_s)
        self._touched = now

    def _settle(self, now: float) -> None:
        unlimited = self._per_s is None
        self._fill(max(now, self._touched))
        least = min(self._allowed(), default=None)
        if least is None:
            self._per_s = None
            return
        per_minute, burst_s = least
        self._burst = max(self._unit, per_minute * burst_s / (MINUTE_S + burst_s))
        self._per_s = (per_minute - self._burst + self._unit) / (MINUTE_S + JITTER_S)
        self._level = self._burst if unlimited else min(self._level, self._burst)

    def _allowed(self) -> Iterator[tuple[float, float]]:
        """By source, what a minute may take and how many seconds' worth of it at once."""
        for source, limit in self._limits.items():
            yield (limit, EVENLY_S) if source == "found" else (limit * self._share, BURST_S)
