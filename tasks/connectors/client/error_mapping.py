"""Maps HTTP failures of every provider to the errors of api.py; messages contain no part of a key."""

from __future__ import annotations

import email.utils
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.text_safety import replace_invisible
from biasgrid.tasks.connectors.api import (
    ConnectorError,
    Disconnected,
    KeyRejected,
    ModelUnknown,
    QuotaSpent,
    RateLimited,
    ReplyMisplaced,
    RequestRejected,
    ServerFault,
    TimedOut,
)
from biasgrid.tasks.connectors.json_objects import parse_body


class Withheld(RequestRejected):
    """A content filter stopped the request; chat connectors return a reply without text instead."""


BY_STATUS: Mapping[int, type[ConnectorError]] = {
    401: KeyRejected,
    402: QuotaSpent,
    403: KeyRejected,
    404: ModelUnknown,
    405: ModelUnknown,
    408: TimedOut,
    409: ServerFault,
    410: ModelUnknown,
    424: ServerFault,  # text-generation-inference: generation failed
    425: ServerFault,
    429: RateLimited,
}
"""Other 4xx reject the request; every other status is a server fault."""

BY_CODE: Mapping[str, type[ConnectorError]] = {
    "insufficient_quota": QuotaSpent,
    "billing_hard_limit_reached": QuotaSpent,
    "billing_not_active": QuotaSpent,
    "invalid_api_key": KeyRejected,
    "model_not_found": ModelUnknown,
    "model_not_supported": ModelUnknown,
    "deploymentnotfound": ModelUnknown,
    "content_filter": Withheld,
    "content_policy_violation": Withheld,
    "context_length_exceeded": RequestRejected,
}
"""Error codes in a body, which are more exact than the status: a spent quota is also a 429."""

QUOTE = 300  # characters of a provider's message that are quoted
SHORTEST_KEY = 8
"""Characters; shorter values grant no access and may be ordinary words in a reply."""
TOKEN = re.compile(r"[^\s'\"`,;()<>{}\[\]=]{4,}")
MASK = re.compile(r"\*{2,}|\.{3,}|…")
KEY_SHAPE = re.compile(r"(?:sk|rk|pk|hf|r8)[-_][\w-]{6,}")


class ErrorMapper:
    """Builds the errors of one model and keeps its keys out of messages and replies."""

    def __init__(self, target: Target, *keys: str | None) -> None:
        self._model = target.model
        self._keys = tuple(key for key in keys if key)
        held = " or ".join(f"`{name}`" for name in target.key_env)
        self._where = f"check {held}" if held else "name its `key_env` in models.yaml"
        self._address, self._remedies = "", REMEDY
        if target.endpoint is not None:
            sent = ", ".join(dict.fromkeys(f"`{name}`" for name, _ in target.endpoint.variables()))
            self._where = f"check {sent}" if sent else "send one in its `headers`, as `${MY_BOT_KEY}`"
            self._address = f" to {without_query(target.endpoint.url)}"
            self._remedies = {**REMEDY, ModelUnknown: "; check the `url` of the endpoint's file"}

    def without_keys(self, text: str) -> str:
        """Text without the keys of this model."""
        return without_keys(text, self._keys)

    def status(self, status: int, headers: Mapping[str, str], body: bytes) -> ConnectorError:
        """The error for an HTTP status of 300 or more."""
        codes, words = _read_error(body, headers.get("content-type", ""))
        wait_s = retry_after_s(headers)
        kind = _error_class(status, codes, asks_to_wait=wait_s is not None)
        if kind is KeyRejected:
            return KeyRejected(f"`{self._model}`: the key was rejected (HTTP {status}); {self._where}")
        quoted = f": {redact(words, *self._keys)}" if words else ""
        message = f"`{self._model}`: {OPENING.get(kind, 'the request failed')} (HTTP {status}){quoted}"
        if kind is RateLimited:
            return RateLimited(message, wait_s)
        return kind(message + self._remedies.get(kind, ""))

    def server(self, what: str) -> ServerFault:
        return ServerFault(f"`{self._model}`: {redact(what, *self._keys)}")

    def reject(self, what: str) -> RequestRejected:
        return RequestRejected(f"`{self._model}`: {redact(what, *self._keys)}")

    def misplace(self, what: str, body: str) -> ReplyMisplaced:
        """The error for a reply without text at the expected path; quotes the beginning of `body`."""
        return ReplyMisplaced(f"`{self._model}`: {what}; it answered: {redact(body, *self._keys)}")

    def unknown(self, what: str) -> ModelUnknown:
        return ModelUnknown(f"`{self._model}`: {redact(what, *self._keys)}")

    def timed_out(self, seconds: float) -> TimedOut:
        return TimedOut(f"`{self._model}`: no answer within {seconds:g} s; `timeout_s` sets the limit")

    def disconnect(self, error: Exception) -> Disconnected:
        kind = type(error).__name__
        return Disconnected(f"`{self._model}`: the connection{self._address} broke ({kind}); is it reachable?")

    def unforeseen(self, error: Exception) -> ConnectorError:
        """The error for an exception of an SDK, whose text is not quoted as it may contain anything."""
        if isinstance(error, UnicodeEncodeError | TypeError):
            return self.reject("the prompt holds characters that cannot be sent as UTF-8")
        return self.server(f"the reply could not be read ({type(error).__name__})")


OPENING: Mapping[type[ConnectorError], str] = {
    RateLimited: "too many requests",
    ServerFault: "the server failed",
    TimedOut: "the server gave up waiting",
    RequestRejected: "the request was rejected",
    Withheld: "a content filter withheld the reply",
    ModelUnknown: "nothing answers under this name",
    QuotaSpent: "the account has no quota left",
}
REMEDY: Mapping[type[ConnectorError], str] = {
    ModelUnknown: "; check the model's name and the provider's base URL",
    QuotaSpent: "; add credit at the provider, then resume",
}


OVERLOADED = (503, 529)
"""With Retry-After the request was refused, as with 429; without it, it failed."""


def _error_class(status: int, codes: tuple[str, ...], *, asks_to_wait: bool) -> type[ConnectorError]:
    if 400 <= status < 500:
        by_code = next((BY_CODE[code] for code in codes if code in BY_CODE), None)
        return by_code or BY_STATUS.get(status, RequestRejected)
    return RateLimited if status in OVERLOADED and asks_to_wait else ServerFault


def _read_error(body: bytes, content_type: str) -> tuple[tuple[str, ...], str]:
    """Codes and message of an error body, in any of the formats that providers use."""
    try:
        document = parse_body(body)
    except ValueError:
        page = "html" in content_type or body.lstrip()[:1] == b"<"
        return (), "an HTML page" if page else body.decode(errors="replace")
    if not isinstance(document, dict):
        return (), str(document)
    error = document.get("error")
    inner = error if isinstance(error, dict) else document
    codes = tuple(str(inner[name]).lower() for name in ("code", "type", "error_type") if inner.get(name))
    words = error if isinstance(error, str) else None
    return codes, str(words or inner.get("message") or inner.get("detail") or inner.get("title") or "")


def without_query(address: str) -> str:
    """An address without its query, which may contain secrets."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def without_keys(text: str, keys: Iterable[str]) -> str:
    """A reply without keys, which a server may echo."""
    for key in keys:
        if len(key) >= SHORTEST_KEY:
            text = text.replace(key, "[key]")
    return text


def redact(words: str, *keys: str) -> str:
    """At most `QUOTE` characters on one line, without keys or parts of keys, masked or not."""
    flat = " ".join(replace_invisible(" ".join(words.split()), "").split())
    clean = TOKEN.sub(lambda found: "[key]" if _holds_key(found[0], keys) else found[0], flat)
    return clean if len(clean) <= QUOTE else clean[: QUOTE - 1] + "…"


def _holds_key(token: str, keys: tuple[str, ...]) -> bool:
    if MASK.search(token.rstrip(".…")) or KEY_SHAPE.search(token):
        return True
    bare = token.strip(".:!?")
    return any(key and (key in token or (len(bare) >= 6 and bare in key)) for key in keys)


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait, from `Retry-After` in (fractional) seconds or as an HTTP date; never negative."""
    milliseconds = _read_number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    stated = headers.get("retry-after")
    seconds = _read_number(stated)
    if seconds is not None or not stated:
        return seconds
    try:
        until = email.utils.parsedate_to_datetime(stated)
    except ValueError:
        return None
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (aware - (now or datetime.now(UTC))).total_seconds())


def _read_number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
