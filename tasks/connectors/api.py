"""What every connector speaks: one async method, frozen requests and replies, and errors told apart by type.

ConnectorError
├── Transient            try again, within the retry budget
│   ├── RateLimited      429, or 503 and 529 that carry Retry-After: not taken, come back later
│   ├── ServerFault      5xx, a malformed or empty body
│   ├── TimedOut         no answer in time
│   └── Disconnected     the connection broke
└── Terminal             trying again cannot help
    ├── RequestRejected  this one request: too long, invalid; a content filter's is a reply
    │   └── ReplyMisplaced   well-formed, but nothing stands where the endpoint's file says that the text is
    └── ModelStopped     every request to this model: its cells end, nothing else does
        ├── KeyRejected  401, 403
        ├── ModelUnknown 404
        ├── QuotaSpent   the account has no money left
        ├── QuotaResting 429; Retry-After is longer than a run waits
        ├── KeptFailing  too many failures in a row without a success
        └── CapReached   the run has sent or spent as much as it may
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

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
)
"""Finish reasons by which providers say that the reply was withheld."""


def is_withheld(finish_reason: str | None) -> bool:
    return finish_reason is not None and finish_reason.lower() in FILTERED


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Parameters:
    """What is sent next to the messages; `seed` is this sample's own, for providers that take one."""

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    json_schema: Mapping[str, object] | None = None
    """A schema for the reply, for models that take one."""


@dataclass(frozen=True, slots=True)
class Request:
    messages: tuple[Message, ...]
    parameters: Parameters
    request_key: str
    sample: int = 1
    """The number of the sample, from 1, which also selects among recorded replies."""
    session: str | None = None
    """The conversation that it belongs to, for chatbots that remember; None for one of its own. Not part of the
    key."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A provider's reply, text as received; counts are None where it reports none."""

    text: str
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    model_reported: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one request after its last attempt: a reply, or the error in its place."""

    reply: Reply | None
    error: ConnectorError | None
    attempts: int
    """Times sent; 0 where its model had stopped before."""
    latency_ms: float | None
    """Of the last attempt; None where nothing was sent."""
    received_at: datetime
    """UTC."""
    shared: bool = False
    """Another task had sent the same request and lands this answer."""


class Connector(Protocol):
    """One model behind one provider. Made once per model and event loop; closed at the end."""

    async def ask(self, request: Request) -> Reply:
        """Send one request, once: no retry here. Raises a `ConnectorError`, nothing else."""
        ...

    async def close(self) -> None: ...


HeaderListener = Callable[[Mapping[str, str]], None]
"""Receives the headers of each reply, their names in any case."""


@runtime_checkable
class HeaderReporting(Protocol):
    """A connector over HTTP that reports response headers, which may state rate limits."""

    def overhear(self, hear: HeaderListener) -> None: ...


@runtime_checkable
class ModelListing(Protocol):
    """A connector whose server lists its models at no cost."""

    async def is_listed(self) -> bool:
        """Whether the server lists the model; False where it does not say. Raises a `ConnectorError`."""
        ...


class SessionStore(Protocol):
    """Keeps what another process needs to continue a conversation: cookies, and an id from the chatbot."""

    def load(self, session: str) -> bytes | None: ...

    def save(self, session: str, state: bytes) -> None: ...

    def forget(self, session: str) -> None: ...


@runtime_checkable
class SessionMemory(Protocol):
    """A connector to a chatbot that remembers."""

    def keep(self, store: SessionStore) -> None:
        """Stores conversations so that they outlive this process."""
        ...

    async def forget(self, session: str) -> None:
        """Deletes what is kept of a conversation here, without a request to the chatbot."""
        ...


class ConnectorFactory(Protocol):
    """Imports its SDK when called and opens no connection. Raises UserError where the target cannot work."""

    def __call__(self, target: Target, key: str | None, catalog: Catalog) -> Connector: ...


class ConnectorError(Exception):
    """Message: what failed and what to do. Picklable: everything it carries is in `args`."""


class Transient(ConnectorError):
    pass


class RateLimited(Transient):
    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message, retry_after_s)
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        return str(self.args[0])


class ServerFault(Transient):
    pass


class TimedOut(Transient):
    pass


class Disconnected(Transient):
    pass


class Terminal(ConnectorError):
    pass


class RequestRejected(Terminal):
    pass


class ReplyMisplaced(RequestRejected):
    pass


class ModelStopped(Terminal):
    pass


class KeyRejected(ModelStopped):
    pass


class ModelUnknown(ModelStopped):
    pass


class QuotaSpent(ModelStopped):
    pass


class QuotaResting(ModelStopped):
    pass


class KeptFailing(ModelStopped):
    pass


class CapReached(ModelStopped):
    pass


PREVIOUS_NAMES = {
    "Hear": "HeaderListener",
    "Overheard": "HeaderReporting",
    "Listing": "ModelListing",
    "Remembering": "SessionMemory",
}


def __getattr__(name: str) -> object:
    """A renamed type by its previous name, for one release."""
    if name not in PREVIOUS_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{name} is now {PREVIOUS_NAMES[name]}", DeprecationWarning, stacklevel=2)
    return globals()[PREVIOUS_NAMES[name]]
