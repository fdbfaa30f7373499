"""The interface of connectors: one async method, frozen requests and replies, one error per kind of failure."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, runtime_checkable

from biasgrid.catalogs.schema.models import Target

if TYPE_CHECKING:
    from biasgrid.catalogs.loading.catalog import Catalog

FILTERED: Final = (
    "content_filter",
    "content_filtered",
    "safety",
    "refusal",
    "blocked",
    "prohibited_content",
    "guardrail_intervened",
    "moderation",
    "blocklist",
    "spii",
    "recitation",
)
"""Finish reasons for a reply that the provider withheld, in whole or in part."""


def is_withheld(finish_reason: str | None) -> bool:
    return finish_reason is not None and finish_reason.lower() in FILTERED


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters sent next to the messages; `seed` is the sample's own, for providers that accept one."""

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    json_schema: Mapping[str, object] | None = None
    """A schema for the reply, for models that accept one."""


@dataclass(frozen=True, slots=True)
class Request:
    messages: tuple[Message, ...]
    parameters: Parameters
    request_key: str
    sample: int = 1
    """Sample number, from 1; also selects among recorded replies."""
    session: str | None = None
    """Conversation of a chatbot with memory, None for a new one; not part of the request key."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A provider's reply, its text unchanged; counts that were not reported are None."""

    text: str
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    model_reported: str | None = None
    note: str | None = None
    """What the provider reported next to the text and could not be used, and why."""
    host: str | None = None
    """The server that replied."""


def withheld_reply() -> Reply:
    """The reply for a prompt blocked by a provider's content filter, counted as a refusal."""
    return Reply(text="", finish_reason="content_filter")


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one request after its last attempt: a reply, or the error in its place."""

    reply: Reply | None
    error: ConnectorError | None
    attempts: int
    """Number of attempts; 0 if the model had stopped before."""
    latency_ms: float | None
    """Latency of the last attempt; None if nothing was sent."""
    received_at: datetime
    """UTC."""
    shared: bool = False
    """Another task sent the same request and stores this answer."""


class Connector(Protocol):
    """One model of one provider; created once per model and event loop, closed at the end."""

    async def ask(self, request: Request) -> Reply:
        """Sends one request once, without retry. Raises only `ConnectorError`."""
        ...

    async def close(self) -> None: ...


HeaderListener = Callable[[Mapping[str, str]], None]
"""Receives the headers of each reply; names may be in upper or lower case."""


@runtime_checkable
class HeaderReporting(Protocol):
    """A connector over HTTP that reports response headers, which may state rate limits."""

    def overhear(self, listen: HeaderListener) -> None: ...


@runtime_checkable
class ModelListing(Protocol):
    """A connector whose server lists its models free of charge."""

    async def is_listed(self) -> bool:
        """Whether the server lists the model; False if it does not report it. Raises `ConnectorError`."""
        ...


class SessionStore(Protocol):
    """Stores what another process needs to resume a conversation: cookies and the chatbot's id."""

    def load(self, session: str) -> bytes | None: ...

    def save(self, session: str, state: bytes) -> None: ...

    def forget(self, session: str) -> None: ...


@runtime_checkable
class SessionMemory(Protocol):
    """A connector to a chatbot with memory."""

    def keep(self, store: SessionStore) -> None:
        """Stores conversations so that they outlive this process."""
        ...

    async def forget(self, session: str) -> None:
        """Deletes the stored state of a conversation without a request to the chatbot."""
        ...


class ConnectorFactory(Protocol):
    """Creates a connector; imports its SDK, opens no connection. Raises UserError if the target cannot work."""

    def __call__(self, target: Target, key: str | None, catalog: Catalog) -> Connector: ...


class ConnectorError(Exception):
    """An error whose message states what failed and the remedy; picklable, as all its data are in `args`."""

    body: str | None = None
    """A reply that could not be understood; it is stored."""
    word: ClassVar[str] = "failed"
    """Its class, as alarms name it."""


class Transient(ConnectorError):
    """Retried within the retry budget."""


class RateLimited(Transient):
    """429, or 503 and 529 with Retry-After: refused, accepted later."""

    word = "throttled"

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message, retry_after_s)
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        return str(self.args[0])


class ServerFault(Transient):
    """5xx."""

    word = "away"


class BrokenReply(ServerFault):
    """A malformed or empty body."""

    word = "broken reply"


class WebPage(BrokenReply):
    """A web page in place of a reply, of a sign-in or a proxy."""


class TimedOut(Transient):
    """No answer in time."""

    word = "away"


class Disconnected(Transient):
    """The connection broke."""

    word = "away"


class NotConnected(Disconnected):
    """No connection was made: nothing was sent, and nothing can be charged."""


class Terminal(ConnectorError):
    """A retry cannot help."""


class RequestRejected(Terminal):
    """This request only: too long or invalid; a content filter's refusal is a reply."""

    word = "rejected"


class ReplyMisplaced(RequestRejected):
    """Well-formed, but no text where the protocol or the endpoint's file expects it; `body` is stored."""

    word = "broken reply"


class ModelStopped(Terminal):
    """Concerns every request to this model; only its cells end."""


class KeyRejected(ModelStopped):
    """401 or 403."""

    word = "key rejected"


class ModelUnknown(ModelStopped):
    """404."""

    word = "unknown model"


class QuotaSpent(ModelStopped):
    """The account has no money left."""

    word = "quota"


class QuotaResting(ModelStopped):
    """429 with a Retry-After that is longer than a run waits."""

    word = "throttled"


class ProviderAway(ModelStopped):
    """The provider has been away for longer than a run waits."""

    word = "away"


class KeptFailing(ModelStopped):
    """Too many requests in a row were rejected or brought broken replies."""

    word = "kept failing"


class ConnectorBroken(ModelStopped):
    """A connector raised something else than a `ConnectorError`, or returned something else than a `Reply`."""

    word = "broken connector"


class CapReached(ModelStopped):
    """The run has reached its cap of requests or cost."""

    word = "cap"


def class_word(error_class: str) -> str:
    """The word of an error as `responses` names it; its name for one that is not known here."""
    known, left = dict[str, str](), [ConnectorError]
    while left:
        each = left.pop()
        known[each.__name__] = each.word
        left += each.__subclasses__()
    return known.get(error_class, error_class)


PREVIOUS_NAMES = {
    "Hear": "HeaderListener",
    "Overheard": "HeaderReporting",
    "Listing": "ModelListing",
    "Remembering": "SessionMemory",
}


def __getattr__(name: str) -> object:
    """A renamed type under its previous name, for one release."""
    if name not in PREVIOUS_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{name} is now {PREVIOUS_NAMES[name]}", DeprecationWarning, stacklevel=2)
    return globals()[PREVIOUS_NAMES[name]]
