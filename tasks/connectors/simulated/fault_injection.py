"""Rate limits and faults of a respondent, with buckets of requests and tokens that refill at their rates."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

from biasgrid.catalogs.schema.respondents import RequestLimits, Respondent
from biasgrid.tasks.connectors.api import ConnectorError, Disconnected, RateLimited, ServerFault, TimedOut

Option = TypeVar("Option")


def uniform(*parts: object) -> float:
    """A number in [0, 1) that depends on all parts and on nothing else."""
    # JSON distinguishes ("a", "bc") from ("ab", "c"), and escapes text that is invalid in UTF-8
    digest = hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / (1 << 53)


@dataclass(frozen=True, slots=True)
class Chance:
    """Random draws for one reply: independent by purpose, fixed by respondent, message and seed."""

    respondent: str
    respondent_seed: int
    message: str
    seed: int | None

    def uniform(self, purpose: str) -> float:
        return uniform(self.respondent, self.respondent_seed, self.message, self.seed, purpose)

    def pick(self, purpose: str, options: Sequence[Option]) -> Option:
        """One of the options with equal probability. Raises IndexError if there is none."""
        return options[int(self.uniform(purpose) * len(options))]


MINUTE_S = 60.0


class Bucket:
    """Token bucket per minute; starts full with `burst_s` seconds' worth, at least one."""

    def __init__(self, per_minute: int, burst_s: float, now: float) -> None:
        self.per_minute = per_minute
        self.capacity = max(1.0, per_minute * burst_s / MINUTE_S)
        self._level, self._at = self.capacity, now

    def level(self, now: float) -> float:
        return min(self.capacity, self._level + (now - self._at) * self.per_minute / MINUTE_S)

    def wait_s(self, amount: float, now: float) -> float:
        """Seconds until `amount` is available; more than the capacity waits for a full bucket."""
        missing = min(amount, self.capacity) - self.level(now)
        return max(0.0, missing * MINUTE_S / self.per_minute)

    def take(self, amount: float, now: float) -> None:
        """Takes `amount`; more than the bucket holds makes it negative, so that later requests wait longer."""
        self._level, self._at = self.level(now) - amount, now

    def full_in_s(self, now: float) -> float:
        return (self.capacity - self.level(now)) * MINUTE_S / self.per_minute


@dataclass(frozen=True, slots=True)
class Standing:
    """The remainder of one limit."""

    limit: int
    remaining: int
    reset_s: float
    """Seconds until the limit is whole again."""


class Meter:
    """All limits of one respondent; a request passes all of them or uses none."""

    def __init__(self, limits: RequestLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        rates = {"requests": limits.requests_per_minute, "tokens": limits.tokens_per_minute}
        now = clock()
        self._buckets = {name: Bucket(rate, limits.burst_s, now) for name, rate in rates.items() if rate}

    def admit(self, tokens: int) -> float:
        """Takes one request of `tokens` tokens and returns 0, or returns the seconds until it can be admitted."""
        now, amounts = self._clock(), {"requests": 1, "tokens": tokens}
        wait = max((bucket.wait_s(amounts[name], now) for name, bucket in self._buckets.items()), default=0.0)
        if wait > 0:
            return wait
        for name, bucket in self._buckets.items():
            bucket.take(amounts[name], now)
        return 0.0

    def standings(self) -> dict[str, Standing]:
        """Remainders by `requests` and `tokens`, if limited."""
        now = self._clock()
        return {
            name: Standing(bucket.per_minute, max(0, int(bucket.level(now))), bucket.full_in_s(now))
            for name, bucket in self._buckets.items()
        }


def limit_headers(standings: Mapping[str, Standing]) -> dict[str, str]:
    """The headers in which OpenAI states its limits."""
    headers = {}
    for name, standing in standings.items():
        headers[f"x-ratelimit-limit-{name}"] = str(standing.limit)
        headers[f"x-ratelimit-remaining-{name}"] = str(standing.remaining)
        headers[f"x-ratelimit-reset-{name}"] = format_duration(standing.reset_s)
    return headers


def format_duration(seconds: float) -> str:
    """A duration as Go writes it, to the millisecond: `0s`, `120ms`, `6.5s`, `1m30s`, `1h0m0s`."""
    milliseconds = round(seconds * 1000)
    if milliseconds < 1000:
        return f"{milliseconds}ms" if milliseconds else "0s"
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}h" if hours else ""
    text += f"{minutes}m" if hours or minutes else ""
    return f"{text}{rest / 1000:g}s"


Fault = Literal[
    "rate_limited",
    "server_fault",
    "timed_out",
    "disconnected",
    "slow_body",
    "truncated_body",
    "empty_body",
    "wrong_content_type",
]
FAULTS: tuple[Fault, ...] = get_args(Fault)
OddReply = Literal["content_filter", "huge_reply"]
ODD_REPLIES: tuple[OddReply, ...] = get_args(OddReply)


def draw_fault(respondent: Respondent, message_text: str, seed: int | None, attempt: int) -> Fault | None:
    """The fault of this attempt, counted from 1; None if it is answered, as always after `faults.most`."""
    if attempt > respondent.faults.most:
        return None
    return _draw(FAULTS, respondent, message_text, seed, "fault", attempt)


def draw_odd_reply(respondent: Respondent, message_text: str, seed: int | None) -> OddReply | None:
    """The kind of odd reply to a question, the same at every attempt, or None."""
    return _draw(ODD_REPLIES, respondent, message_text, seed, "odd reply")


def _draw(names: Sequence[Option], respondent: Respondent, *parts: object) -> Option | None:
    """One of the faults by the rates of the respondent, or None."""
    drawn = uniform(respondent.id, respondent.seed, *parts)
    for name in names:
        drawn -= getattr(respondent.faults, str(name))
        if drawn < 0:
            return name
    return None


def fault_error(respondent: Respondent, name: Fault) -> ConnectorError:
    """The fault as the error of a connector."""
    kind, what = AS_ERROR[name]
    message = f"simulated/{respondent.id} {what} (simulated)"
    return RateLimited(message, respondent.faults.retry_after_s) if kind is RateLimited else kind(message)


AS_ERROR: Mapping[Fault, tuple[type[ConnectorError], str]] = {
    "rate_limited": (RateLimited, "has too many requests"),
    "server_fault": (ServerFault, "failed"),
    "timed_out": (TimedOut, "did not answer in time"),
    "disconnected": (Disconnected, "dropped the connection"),
    "slow_body": (TimedOut, "did not answer in full in time"),
    "truncated_body": (ServerFault, "broke off its reply"),
    "empty_body": (ServerFault, "answered with nothing"),
    "wrong_content_type": (ServerFault, "answered with a page of HTML"),
}
