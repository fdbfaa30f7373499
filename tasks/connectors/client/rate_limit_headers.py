"""The limits that a server states in its response headers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MINUTE_S = 60.0
LONGEST_WINDOW_S = 2 * MINUTE_S
"""A longer window is a quota, for example per day, which may be used at any rate."""

WHOLE_MINUTE_S, EVEN_S = 0.98 * MINUTE_S, 1.0

UNITS_S: Mapping[str, float] = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
ITEM = re.compile(
    r'(?:"(?:[^"\\]|\\.)*"|[\w*.-]+)((?:\s*;\s*[a-z*][\w*.-]*(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^;,\s"]+))?)*)'
)
PARAMETER = re.compile(r';\s*([a-z*][\w*.-]*)\s*=\s*("(?:[^"\\]|\\.)*"|[^;,\s"]+)')


@dataclass(frozen=True, slots=True)
class StatedLimits:
    """The limits that one reply states; None for those not stated."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    hold_s: float = 0.0
    """Seconds without requests, as nothing is left."""


NO_LIMITS = StatedLimits()
OPENAI_REQUESTS = "x-ratelimit-limit-requests"
OPENAI_TOKENS = "x-ratelimit-limit-tokens"
IETF_POLICY = "ratelimit-policy"


def read_stated_limits(headers: Mapping[str, str]) -> StatedLimits:
    """The limits in OpenAI's headers or the IETF's RateLimit fields (draft-ietf-httpapi-ratelimit-headers-10)."""
    if OPENAI_REQUESTS in headers or OPENAI_TOKENS in headers:
        requests, hold_s = _read_openai_unit(headers, "requests")
        tokens, hold_tokens_s = _read_openai_unit(headers, "tokens")
        return StatedLimits(requests, tokens, max(hold_s, hold_tokens_s))
    if IETF_POLICY in headers:
        return _read_ietf(headers)
    return NO_LIMITS


def read_duration_s(text: str | None) -> float | None:
    """Seconds in `1s`, `6m0s`, `120ms` or a bare number; None for any other text."""
    bare = _number(text)
    if bare is not None or text is None or not DURATION.fullmatch(text):
        return bare
    return sum(float(amount) * UNITS_S[unit] for amount, unit in PART.findall(text))


def _read_openai_unit(headers: Mapping[str, str], unit: str) -> tuple[float | None, float]:
    """The limit per minute, None for a longer quota, and the seconds to pause."""
    # `reset` is the time until the limit is whole again at an even rate, and thus gives the window. With
    # nothing left, some returns each second if `reset` is about a minute, and nothing before `reset` if it
    # is shorter.
    limit = _number(headers.get(f"x-ratelimit-limit-{unit}"))
    if not limit:
        return None, 0.0
    left = _number(headers.get(f"x-ratelimit-remaining-{unit}"))
    reset_s = read_duration_s(headers.get(f"x-ratelimit-reset-{unit}")) or 0.0
    if left is not None and left < limit and reset_s * limit / (limit - left) > LONGEST_WINDOW_S:
        return None, 0.0
    if left != 0:
        return limit, 0.0
    return limit, EVEN_S if reset_s > WHOLE_MINUTE_S else reset_s


def _read_ietf(headers: Mapping[str, str]) -> StatedLimits:
    policies = [_per_minute(policy) for policy in _items(headers[IETF_POLICY])]
    allowed = [policy for policy in policies if policy is not None]
    if not allowed:
        return NO_LIMITS
    left = [(_number(item.get("r")), _number(item.get("t"))) for item in _items(headers.get("ratelimit", ""))]
    hold_s = max((reset or 0.0 for remaining, reset in left if remaining == 0), default=0.0)
    return StatedLimits(min(allowed), None, min(hold_s, LONGEST_WINDOW_S))


def _per_minute(policy: Mapping[str, str]) -> float | None:
    quota, window_s = _number(policy.get("q")), _number(policy.get("w"))
    counts_requests = policy.get("qu", "requests").strip('"') == "requests"
    if not quota or not window_s or window_s > LONGEST_WINDOW_S or not counts_requests:
        return None
    return quota * MINUTE_S / window_s


def _items(field: str) -> Iterator[Mapping[str, str]]:
    """The parameters of each item of a list of structured fields (RFC 9651, section 3.1)."""
    for item in ITEM.finditer(field):
        yield dict(PARAMETER.findall(item[1]))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
