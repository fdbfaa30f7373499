"""Estimates request time at provider limits, per model or shared within a provider."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from biasgrid.catalogs.schema.models import Limits, Target


@dataclass(frozen=True, slots=True)
class Load:
    """Requests of one model, their input and output tokens, and the total reply latency in seconds."""

    target: Target
    requests: int
    tokens: float
    waiting_s: float


Need = Callable[[Load, Limits], float]
NEEDS: Mapping[str, Need] = {
    "concurrency": lambda load, limits: load.waiting_s / limits.concurrency,
    "requests_per_minute": lambda load, limits: _minutes(load.requests, limits.requests_per_minute),
    "tokens_per_minute": lambda load, limits: _minutes(load.tokens, limits.tokens_per_minute),
}
"""Seconds that a load takes at each limit alone."""


def seconds(loads: Iterable[Load]) -> float:
    """Seconds at the slowest limit: models sharing a limit queue, others run in parallel."""
    told: dict[tuple[str, str], float] = {}
    for load in loads:
        for limit, need in NEEDS.items():
            own = limit in load.target.own_limits
            scope = limit, load.target.model if own else load.target.provider
            told[scope] = told.get(scope, 0.0) + need(load, load.target.limits)
    return round(max(told.values(), default=0.0), 1)


def _minutes(amount: float, per_minute: int | None) -> float:
    return 60 * amount / per_minute if per_minute else 0.0
