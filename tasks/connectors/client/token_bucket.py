"""Token bucket for requests or tokens per minute."""

from __future__ import annotations

from typing import Literal

Source = Literal["configured", "stated", "found"]

MINUTE_S = 60.0
JITTER_S = 0.2
"""Requests sent evenly arrive unevenly, so a server may count slightly more in a minute."""
BURST_S = 1.0
EVENLY_S = 0.1
"""Burst of an estimated limit, as the server may accept little at once."""


class TokenBucket:
    """Token bucket for the smallest of the configured, stated and estimated limits, on the event loop's clock."""

    # It fills evenly and holds one second's worth, so that no 60 seconds exceed the limit; what was taken
    # before a server stated its limit counts. `unit` is the least that can be taken: 1 request, 0 tokens.

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
        """The fill rate; None without a limit."""
        return self._per_s

    def limit(self, source: Source, per_minute: float | None, now: float) -> None:
        """Sets what one source allows per minute; None for no limit."""
        if self._limits.get(source) == per_minute:
            return
        if per_minute is None:
            self._limits.pop(source, None)
        else:
            self._limits[source] = per_minute
        was_free = self._per_s is None
        self._settle(now)
        if was_free and source == "stated":
            # what was taken in the last minute, at most one minute's limit
            lately = self._freely * min(1.0, MINUTE_S / max(now - self._freely_since, 1e-9))
            self._level -= min(lately, MINUTE_S * (self._per_s or 0.0))

    def share(self, share: float, now: float) -> None:
        """Sets this process's share of configured and stated limits; estimated limits are its own already."""
        self._share = share
        self._settle(now)

    def reserve(self, amount: float, now: float) -> float:
        """Takes `amount` and returns the time from which it may be used; more than a burst waits longer."""
        if self._per_s is None:
            self._freely_since = now if self._freely == 0.0 else self._freely_since
            self._freely += amount
            return now
        self._fill(now)
        self._level -= amount
        return now if self._level >= -1e-9 else now - self._level / self._per_s

    def correct(self, amount: float) -> None:
        """Takes what was used beyond the reservation; negative amounts are returned."""
        if self._per_s is None:
            self._freely = max(0.0, self._freely + amount)
        else:
            self._level -= amount

    def _fill(self, now: float) -> None:
        if self._per_s is not None:
            self._level = min(self._burst, self._level + (now - self._touched) * self._per_s)
        self._touched = now

    def _settle(self, now: float) -> None:
        unlimited = self._per_s is None
        self._fill(max(now, self._touched))
        if not self._limits:
            self._per_s = None
            return
        per_minute, burst_s = min(
            (limit, EVENLY_S) if source == "found" else (limit * self._share, BURST_S)
            for source, limit in self._limits.items()
        )
        self._burst = max(self._unit, per_minute * burst_s / (MINUTE_S + burst_s))
        self._per_s = (per_minute - self._burst + self._unit) / (MINUTE_S + JITTER_S)
        self._level = self._burst if unlimited else min(self._level, self._burst)
