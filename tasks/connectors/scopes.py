"""Which models share which limits, and which part of them is this process's."""

from __future__ import annotations

from catalogs.models import Target
from tasks.connectors.limits import Limiter, Requests, Slots
from tasks.connectors.rates import Rate


class Scopes:
    """The limiters of a process. A limit among a target's `own_limits` holds for that model alone, any other for
    all models of its provider together; scopes are named by model or provider."""

    def __init__(self) -> None:
        self._slots: dict[str, Slots] = {}
        self._requests: dict[str, Requests] = {}
        self._tokens: dict[str, Rate] = {}
        self._limiters: list[tuple[Target, Limiter]] = []
        self._granted: dict[str, tuple[int, int | None]] = {}

    def limiter(self, target: Target) -> Limiter:
        """A new queue for one model, over the limits that it shares. Within an event loop."""
        limits = target.limits
        limiter = Limiter(
            self._slots.setdefault(scope(target, "concurrency"), Slots(limits.concurrency)),
            self._requests.setdefault(scope(target, "requests_per_minute"), Requests(limits.requests_per_minute)),
            self._tokens.setdefault(scope(target, "tokens_per_minute"), Rate(limits.tokens_per_minute)),
        )
        self._limiters.append((target, limiter))
        self._apply(target, limiter)
        return limiter

    def grant(self, name: str, slots: int, total: int | None = None) -> None:
        """So many slots of a provider, or of a model with a concurrency of its own, are this process's, and the
        same part of the requests and tokens per minute. `total` is what all processes share, by default the
        catalog's concurrency. May be told before or after the first limiter is made, and again."""
        self._granted[name] = slots, total
        for target, limiter in self._limiters:
            self._apply(target, limiter)

    def _apply(self, target: Target, limiter: Limiter) -> None:
        name = scope(target, "concurrency")
        if name not in self._granted:
            return
        slots, total = self._granted[name]
        limiter.slots.resize(slots)
        share = min(1.0, max(slots, 1) / (total or target.limits.concurrency))
        if name == scope(target, "requests_per_minute") or "requests_per_minute" in target.own_limits:
            limiter.share_requests(share)
        if name == scope(target, "tokens_per_minute") or "tokens_per_minute" in target.own_limits:
            limiter.share_tokens(share)


def scope(target: Target, limit: str) -> str:
    """The name under which a limit is shared."""
    return target.model if limit in target.own_limits else target.provider
