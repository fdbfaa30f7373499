"""Maps HTTP failures of every provider to the errors of api.py; messages contain no part of a key."""

from __future__ import annotations

import email.utils
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlsplit

from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.text_safety import replace_invisible
from biasgrid.tasks.connectors.api import (
    BrokenReply,
    ConnectorError,
    Disconnected,
    KeyRejected,
    ModelStopped,
    ModelUnknown,
    NotConnected,
    QuotaSpent,
    RateLimited,
    ReplyMisplaced,
    RequestRejected,
    ServerFault,
    TimedOut,
    WebPage,
)
from biasgrid.tasks.connectors.json_objects import parse_body
from biasgrid.tasks.connectors.side_fields import cut

E = TypeVar("E", bound=ConnectorError)
LONGEST_PAGE = 4096
"""Bytes in which the beginning and the title of a web page are looked for."""
LONGEST_BODY = 1_000_000
"""Characters that are stored of a body that could not be understood."""


class Withheld(RequestRejected):
    """A content filter stopped the request; chat connectors return a reply without text instead."""


class ReplyTooLong(RequestRejected):
    """The body has more bytes than are read; a second request would bring as many."""


class NoApi(ModelStopped):
    """A web page of something else than the API, such as a proxy, refuses the request."""

    word = "no API"


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
    **dict.fromkeys(
        (
            *("insufficient_quota", "quota_exceeded", "quotaexceeded", "insufficientquota", "billing_error"),
            *("billing_hard_limit_reached", "billing_not_active", "billing_disabled", "insufficient_credits"),
        ),
        QuotaSpent,
    ),
    **dict.fromkeys(
        (
            *("invalid_api_key", "api_key_invalid", "authentication_error", "permission_error", "unauthenticated"),
            *("permission_denied", "account_deactivated", "access_terminated", "invalid_organization"),
        ),
        KeyRejected,
    ),
    **dict.fromkeys(("model_not_found", "model_not_supported", "deploymentnotfound"), ModelUnknown),
    **dict.fromkeys(
        (
            *("content_filter", "content_policy_violation", "responsibleaipolicyviolation", "moderation"),
            *("flagged", "prohibited_content", "safety"),
        ),
        Withheld,
    ),
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "resource_exhausted"), RateLimited),
    **dict.fromkeys(("overloaded_error", "api_error", "timeout_error"), ServerFault),
    **dict.fromkeys(("context_length_exceeded", "request_too_large"), RequestRejected),
}
"""Codes in errors of OpenAI, Azure, Anthropic, Google and OpenRouter, more exact than the status: a spent quota is
also a 429."""

QUOTA = re.compile(
    r"insufficient (?:quota|credit|balance|funds)|credit balance is too low|out of (?:credits|call volume quota)"
    r"|exceeded your (?:current quota|monthly)|(?:spend|spending|billing|hard) limit|payment required"
    r"|(?:requests?|quota)s? ?per ?day",
    re.IGNORECASE,
)
"""Words of a spent quota, for providers without a code for it: Anthropic, Hugging Face, Replicate, Google."""
NESTED = ("error", "errors", "detail", "details", "innererror", "metadata", "violations")
CODES = ("code", "type", "error_type", "error_code", "status", "statusCode", "reason", "quotaId", "title")
WORDS = ("message", "detail", "error", "error_message", "msg", "title")
MOST_PARTS = 20
PAGE = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,500}?-->\s*)*<(?:!doctype html|html|head|body)\b", re.I | re.S
)
TITLE = re.compile(rb"<title[^>]*>(.{1,200}?)</title>", re.I | re.S)

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
        self.host: str | None = None
        """The server that replied last; redirects stay within it."""
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
        if is_page(body) and status not in (408, 429):
            return self.page(status, body)
        codes, words = _read_error(body)
        return self._stated_error(status, codes, words, retry_after_s(headers))

    def find_error(self, document: object) -> ConnectorError | None:
        """The error that a document reports under whatever status it came, or None."""
        outer = next(_error_parts(document), {})
        is_error = "error" in (outer.get("object"), outer.get("type"))
        if not (is_error or outer.get("error") or outer.get("errors")):
            return None
        codes, words = _describe(document)
        return self._stated_error(200, codes, words, None)

    def _stated_error(
        self, status: int, codes: tuple[str, ...], words: str, wait_s: float | None
    ) -> ConnectorError:
        kind = _error_class(status, codes, words, asks_to_wait=wait_s is not None)
        quoted = f": {redact(words, *self._keys)}" if words else ""
        message = f"`{self._model}`: {OPENING.get(kind, 'the request failed')} (HTTP {status}){quoted}"
        if kind is RateLimited:
            return RateLimited(message, wait_s)
        if kind is KeyRejected:
            return KeyRejected(f"{message}; {self._where}")
        return kind(message + self._remedies.get(kind, ""))

    def page(self, status: int, body: bytes) -> ConnectorError:
        """The error for a web page in place of a reply: of a gateway that fails, or of anything but the API."""
        title = TITLE.search(body[:LONGEST_PAGE])
        named = f", “{redact(title[1].decode(errors='replace'), *self._keys)}”" if title else ""
        where = "the `url` of the endpoint's file" if self._address else "base_url"
        what = f"a web page{named} instead of an API (HTTP {status})"
        words = f"`{self._model}`: {what}: is {where} right? is a proxy between?"
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:  # of a gateway whose server is away
            return ServerFault(words)
        return NoApi(words) if status >= HTTPStatus.BAD_REQUEST else WebPage(words)

    def too_long(self, what: str) -> ReplyTooLong:
        return ReplyTooLong(f"`{self._model}`: the reply {what}")

    def no_object(self, body: bytes, label: str) -> BrokenReply:
        """The error for a body that is no JSON object, with the body."""
        what = "no JSON object" if body.strip() else "nothing"
        return self.keep_body(self.unreadable(f"answered with {what} ({label})"), body)

    def keep_body(self, error: E, body: bytes) -> E:
        """The error with the body that could not be understood, so that it can be read later."""
        if body.strip():
            error.body = cut(self.without_keys(body[: 2 * LONGEST_BODY].decode(errors="replace")), LONGEST_BODY)
        return error

    def elsewhere(self, where: str) -> ModelUnknown:
        """The error for a redirect to another host, which could be a sign-in page's."""
        file = "write it as the `url` of the endpoint's file" if self._address else "write it as the base_url"
        return self.unknown(
            f"redirects to {where}, and nothing is sent to another host; if it is the provider's, {file}; "
            "otherwise a proxy or a sign-in page may be between"
        )

    def server(self, what: str) -> ServerFault:
        return ServerFault(f"`{self._model}`: {redact(what, *self._keys)}")

    def unreadable(self, what: str) -> BrokenReply:
        return BrokenReply(f"`{self._model}`: {redact(what, *self._keys)}")

    def reject(self, what: str) -> RequestRejected:
        return RequestRejected(f"`{self._model}`: {redact(what, *self._keys)}")

    def misplace(self, what: str, body: bytes) -> ReplyMisplaced:
        """The error for a reply without text where it is expected; quotes the beginning of `body` and keeps it."""
        beginning = body.strip()[:1000].decode(errors="replace")
        error = ReplyMisplaced(f"`{self._model}`: {what}; it answered: {redact(beginning, *self._keys)}")
        return self.keep_body(error, body)

    def unknown(self, what: str) -> ModelUnknown:
        return ModelUnknown(f"`{self._model}`: {redact(what, *self._keys)}")

    def timed_out(self, seconds: float) -> TimedOut:
        return TimedOut(f"`{self._model}`: no answer within {seconds:g} s; `timeout_s` sets the limit")

    def disconnect(self, error: Exception, *, is_sent: bool = True) -> Disconnected:
        kind, error_class = type(error).__name__, Disconnected if is_sent else NotConnected
        return error_class(f"`{self._model}`: the connection{self._address} broke ({kind}); is it reachable?")

    def unforeseen(self, error: Exception) -> ConnectorError:
        """The error for an exception of an SDK, whose text is not quoted as it may contain anything."""
        if isinstance(error, UnicodeEncodeError | TypeError):
            return self.reject("the prompt holds characters that cannot be sent as UTF-8")
        return self.unreadable(f"the reply could not be read ({type(error).__name__})")


OPENING: Mapping[type[ConnectorError], str] = {
    KeyRejected: "the key was rejected",
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


def _error_class(status: int, codes: tuple[str, ...], words: str, *, asks_to_wait: bool) -> type[ConnectorError]:
    numbers = [int(code) for code in codes if re.fullmatch("[45][0-9]{2}", code)]
    stated = numbers[0] if status < 400 and numbers else status
    by_code = next((BY_CODE[code] for code in codes if code in BY_CODE), None)
    by_words = QuotaSpent if stated < 500 and not asks_to_wait and QUOTA.search(words) else None
    if by_code in (Withheld, QuotaSpent):
        return by_code
    if stated < 500:
        found = by_words or by_code or BY_STATUS.get(stated)
        return found or (RequestRejected if stated >= 400 else ServerFault)
    return RateLimited if stated in OVERLOADED and asks_to_wait else ServerFault


def is_page(body: bytes) -> bool:
    """Whether a body is a whole web page."""
    return body[:1] in b"< \r\n\t" and PAGE.match(body[:LONGEST_PAGE]) is not None


def _read_error(body: bytes) -> tuple[tuple[str, ...], str]:
    """Codes and message of an error body, in any of the formats that providers use."""
    try:
        document = parse_body(body)
    except ValueError:
        return (), "a page" if body.lstrip()[:1] == b"<" else body.decode(errors="replace")
    if not isinstance(document, dict | list):
        return (), str(document)
    return _describe(document)


def _describe(document: object) -> tuple[tuple[str, ...], str]:
    """Codes, inner ones last, and the first message in an error object and the objects within it."""
    codes, words = list[str](), ""
    parts = list(_error_parts(document))
    inner = parts[0].get("error") if parts else None
    for part in sorted(parts, key=lambda part: part is not inner):
        codes += [str(part[name]).lower() for name in CODES if isinstance(part.get(name), str | int)]
        codes += ["flagged"] if part.get("reasons") or part.get("flagged_input") else []
        words = words or next((part[name] for name in WORDS if part.get(name) and isinstance(part[name], str)), "")
    return tuple(codes), words


def _error_parts(document: object) -> Iterator[Mapping[str, Any]]:
    """The objects of an error, outer ones first: under `NESTED`, in lists, and in choices."""
    left = [document]
    for _ in range(MOST_PARTS):
        if not left:
            return
        part = left.pop(0)
        if isinstance(part, list):
            left += part[:MOST_PARTS]
        elif isinstance(part, dict):
            yield part
            left += [part[name] for name in NESTED if isinstance(part.get(name), dict | list)]


def without_query(address: str) -> str:
    """An address without user, password, query and fragment, which may contain secrets."""
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
