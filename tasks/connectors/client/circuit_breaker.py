"""Waits out a provider that is away, by time; stops a model at once for what time does not mend."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from biasgrid.tasks.connectors.api import (
    BrokenReply,
    ConnectorError,
    Disconnected,
    KeptFailing,
    ModelStopped,
    ProviderAway,
    QuotaResting,
    RateLimited,
    Reply,
    ReplyMisplaced,
    RequestRejected,
    ServerFault,
    TimedOut,
    WebPage,
)
from biasgrid.tasks.connectors.client.retry import Backoff, format_seconds

AWAY = (Disconnected, ServerFault, TimedOut)
BROKEN = (BrokenReply, ReplyMisplaced, WebPage)
"""Replies that came and cannot be read: they may cost money, so that time alone does not bound them."""
UNUSABLE = 10
"""Requests in a row that are rejected or bring broken replies, after which a model is stopped."""
# An unsupported parameter rejects all requests; prompts that are too long occur singly.
SILENCE_S = 1.0
"""Seconds without a sign of life before failures count as an outage: single errors of a busy server do not."""


def _now() -> float:
    return asyncio.get_running_loop().time()


def is_away(outcome: Reply | ConnectorError) -> bool:
    """Whether nothing came from the provider, or only that it fails."""
    return isinstance(outcome, AWAY) and not isinstance(outcome, BROKEN)


@dataclass(slots=True)
class _Outage:
    """Failures since the last sign of life."""

    since: datetime
    began: float
    """By the event loop's clock."""
    last: ConnectorError
    requests: int = 0
    """That failed at their first attempt."""
    attempts: int = 0


@dataclass(slots=True)
class CircuitBreaker:
    """One model's failures since its last success. While its provider is away one request at a time is sent, in
    growing intervals; the others wait."""

    model: str
    policy: Backoff
    _outage: _Outage | None = None
    _is_open: bool = False
    _alive_at: float | None = None
    _throttled_at: float = 0.0
    _throttled_since: datetime | None = None
    _unusable: int = 0
    _last_probe: float = 0.0
    _probes: int = 0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_open(self) -> bool:
        """Whether the provider counts as away."""
        return self._is_open

    @property
    def is_in_doubt(self) -> bool:
        """Whether several requests have failed, and none has been answered since."""
        return self._outage is not None and self._outage.requests > 1

    @asynccontextmanager
    async def turn(self, is_stopped: Callable[[], bool]) -> AsyncIterator[bool]:
        """The turn of one attempt: at once while the provider answers or its model is stopped, else when it is to
        be asked again. Yields whether it is such a probe."""
        if not self._is_open:
            yield False
            return
        async with self._turn:
            if self._is_open and not is_stopped():
                await asyncio.sleep(self._probe_in_s())
                self._probes += 1
                self._last_probe = _now()
                yield True
                return
        yield False  # it answers again

    def _probe_in_s(self) -> float:
        """Seconds until the next probe; the last one is due when patience ends."""
        assert self._outage is not None  # noqa: S101 - it is open
        now, interval = _now(), self.policy.probe_s(self._probes)
        ends = self._outage.began + self.policy.outage_s
        return max(0.0, min(self._last_probe + interval, ends) - now)

    def record(self, outcome: Reply | ConnectorError, *, is_first: bool) -> ModelStopped | None:
        """Notes the outcome of an attempt; returns the reason to stop once patience has ended. `is_first`: of its
        request."""
        if is_away(outcome):
            assert isinstance(outcome, ConnectorError)  # noqa: S101 - no reply is away
            return self._note_failure(outcome, is_first=is_first)
        self._end_outage()
        if isinstance(outcome, RateLimited):
            return self._note_refusal(outcome)
        self._throttled_since = None
        return None

    def conclude(self, outcome: Reply | ConnectorError) -> KeptFailing | None:
        """Counts the final outcome of a request; returns the reason to stop if no reply can be used."""
        if isinstance(outcome, Reply):
            self._unusable = 0
        if not isinstance(outcome, RequestRejected | WebPage | BrokenReply):
            return None
        self._unusable += 1
        if self._unusable < UNUSABLE:
            return None
        fate = "brought replies that cannot be read" if isinstance(outcome, BROKEN) else "were rejected"
        return KeptFailing(
            f"`{self.model}`: stopped after {UNUSABLE} requests in a row {fate}; the last error: "
            f"{self._reason(outcome)}; correct that before more is sent"
        )

    def _note_failure(self, error: ConnectorError, *, is_first: bool) -> ProviderAway | None:
        now = _now()
        if self._outage is None:
            self._outage = _Outage(datetime.now(UTC), now, error)
        outage = self._outage
        outage.last, outage.attempts = error, outage.attempts + 1
        # a request that failed while others were answered may be what the provider fails at
        outage.requests += is_first
        is_silent = self._alive_at is None or now - self._alive_at >= SILENCE_S
        if not self._is_open and is_silent and self.is_in_doubt:
            self._is_open, self._probes, self._last_probe = True, 0, now
            self.policy.notify(f"{self._describe(outage)}; asked again for {format_seconds(self.policy.outage_s)}")
        if not self._is_open or now - outage.began < self.policy.outage_s:
            return None
        waited = format_seconds(now - outage.began)
        return ProviderAway(f"{self._describe(outage)}; asked {outage.attempts} times in {waited}")

    def _note_refusal(self, error: RateLimited) -> QuotaResting | None:
        if self._throttled_since is None:
            self._throttled_at, self._throttled_since = _now(), datetime.now(UTC)
        if _now() - self._throttled_at <= self.policy.patience_s:
            return None
        since = f"{self._throttled_since:%H:%M} UTC"
        return QuotaResting(f"`{self.model}`: throttled since {since}: {self._reason(error)}")

    def _end_outage(self) -> None:
        self._alive_at = _now()
        if self._is_open and self._outage is not None:
            away = format_seconds(self._alive_at - self._outage.began)
            self.policy.notify(f"`{self.model}`: answers again after {away}")
        self._outage, self._is_open = None, False

    def _describe(self, outage: _Outage) -> str:
        return f"`{self.model}`: away since {outage.since:%H:%M} UTC: {self._reason(outage.last)}"

    def _reason(self, error: ConnectorError) -> str:
        return str(error).removeprefix(f"`{self.model}`: ")
