"""Defines chatbots behind HTTP: requests, paths to the reply, memory."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from biasgrid.catalogs.schema.base import Frozen, Identifier
from biasgrid.catalogs.schema.endpoint_request import (
    EARLIER,
    HISTORY,
    MESSAGE,
    MODEL,
    PARAMETERS,
    SESSION,
    Call,
    placeholders,
)

Step = str | int | None
"""A key, an index from either end, or None for every entry of a list."""

STEP = re.compile(r"""\.?(?:([^.\[\]\s"']+)|\[(-?\d+)\]|(\[\*\])|\["([^"]+)"\]|\['([^']+)'\])""")
WANTED = "write keys and indexes, such as `choices[0].message.content` or `data.0.text`"


def steps(path: str) -> tuple[Step, ...]:
    """Steps of a path without its `$.`; raises ValueError if it is invalid."""
    rest = path.strip().removeprefix("$")
    found: list[Step] = []
    at = 0
    while at < len(rest):
        match = STEP.match(rest, at)
        if match is None or (found and match[1] and rest[at] != "."):
            raise ValueError(f"is no path; {WANTED}")
        found.append(_step(match))
        at = match.end()
    if not found:
        raise ValueError(f"is no path; {WANTED}")
    return tuple(found)


def _step(match: re.Match[str]) -> Step:
    if match[3]:
        return None
    return int(match[2]) if match[2] else match[1] or match[4] or match[5]


def found_at(document: object, path: tuple[Step, ...]) -> Iterator[object]:
    """One value at a path, or any number with `[*]`; raises LookupError with the first missing step."""
    if not path:
        yield document
        return
    step, rest = path[0], path[1:]
    if step is None:
        if not isinstance(document, list):
            raise LookupError("[*]")
        for entry in document:
            yield from found_at(entry, rest)
        return
    yield from found_at(_inside(document, step), rest)


def _inside(document: object, step: str | int) -> object:
    """Value of a step: in `data.0`, `0` is an index in a list or a key in a mapping."""
    if isinstance(document, dict) and str(step) in document:
        return document[str(step)]
    index = int(step) if re.fullmatch(r"-?[0-9]{1,9}", str(step)) else None
    if isinstance(document, list) and index is not None and -len(document) <= index < len(document):
        return document[index]
    raise LookupError(str(step))


def _check_path(path: str) -> str:
    steps(path)
    return path


ReplyPath = Annotated[str, AfterValidator(_check_path)]


CARRIES_MESSAGE = frozenset({MESSAGE, HISTORY})
NOT_SENT = frozenset(
    {"timeout_s", "concurrency", "requests_per_minute", "usd_per_request", "input_tokens", "output_tokens"}
)
"""What changes no reply."""


class Opening(Call):
    """A request with which a conversation begins, before its first message."""

    @model_validator(mode="after")
    def _sends_no_message(self) -> Self:
        early = sorted(self.asks_for() - {SESSION, MODEL})
        if early:
            raise ValueError(f"`{{{early[0]}}}` is not known yet when a conversation is opened")
        return self


class Turns(Frozen):
    """How a chatbot calls what stands in `{history}` and `{earlier}`, a mapping for each turn."""

    role: str = Field(default="role", min_length=1)
    content: str = Field(default="content", min_length=1)
    user: str = "user"
    assistant: str = "assistant"

    @property
    def speakers(self) -> dict[str, str]:
        return {"user": self.user, "assistant": self.assistant}


class Endpoint(Call):
    """A chatbot: what is sent with each message, and what is read from its reply."""

    reply: ReplyPath | None = None
    """Where the text stands in the JSON that comes back, such as `choices[0].message.content`, `data.0.text`, or
    `[*].text` for several messages, which are joined by line breaks. Absent: the body is the text."""
    remembers: Literal["none", "cookie", "session"] = "none"
    """none: each request stands alone, `{history}` carries the messages before; cookie: by the cookies that it
    sets; session: by `{session}`, an id of ours or the one at `session_from`."""
    session_from: ReplyPath | None = None
    """Where the reply that begins a conversation, the opening's if there is one, holds the id that the chatbot
    gives it. Until then an entry of a body that is `{session}`, or a header that holds it, is left out."""
    opening: Opening | None = None
    """What is sent first to begin a conversation, where the chatbot asks for that."""
    turns: Turns = Turns()
    """Such as `{role: author, content: text, assistant: bot}`; by default OpenAI's names."""
    input_tokens: ReplyPath | None = None
    """Where the number of tokens that it read stands, if it reports it."""
    output_tokens: ReplyPath | None = None
    model_reported: ReplyPath | None = None
    """Where the model's name or version stands, if it reports it."""
    timeout_s: float = Field(default=60, gt=0)
    """How long one attempt may take, its opening included."""
    concurrency: int = Field(default=4, ge=1)
    """Requests in flight at once."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    usd_per_request: float | None = Field(default=None, ge=0)
    """What a message costs, US dollars; unknown by default, and then a run cannot be capped in money."""

    @model_validator(mode="after")
    def _can_hold_a_conversation(self) -> Self:
        if not self.asks_for() & CARRIES_MESSAGE:
            raise ValueError("sends no message: write `{message}` or `{history}` into its `body` or `url`")
        if EARLIER in self.asks_for() and MESSAGE not in self.asks_for():
            raise ValueError("`{earlier}` is the history without the last message: send `{message}`, too")
        if self.remembers == "session" and not any(SESSION in call.asks_for() for call in self.calls):
            raise ValueError("`remembers` is `session`: write `{session}` into `body`, `url` or `headers`")
        if self.session_from is not None:
            self._check_given_session()
        return self

    def _check_given_session(self) -> None:
        if self.remembers != "session":
            raise ValueError("`session_from` is for a chatbot that remembers by it: write `remembers: session`")
        if self.opening is not None and SESSION in self.opening.asks_for():
            raise ValueError("`opening`: `{session}` comes with its reply, by `session_from`")
        if SESSION not in self.asks_for():
            raise ValueError(
                "`session_from`: write `{session}` where the id is sent, in `body`, `url` or `headers`"
            )
        if self.opening is None and SESSION in placeholders(self.url):
            raise ValueError("`url`: `{session}` is not known before the first reply; describe an `opening`")

    @property
    def calls(self) -> tuple[Call, ...]:
        return (self.opening, self) if self.opening else (self,)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Sampling parameters that are sent."""
        return tuple(name for name in PARAMETERS if name in self.asks_for())

    def variables(self) -> Iterator[tuple[str, str]]:
        """Each environment variable it needs, with its header."""
        for call in self.calls:
            yield from call.named_variables()

    def request_fields(self) -> dict[str, object]:
        """JSON, without keys, of everything that affects requests or the reading of replies."""
        return self.model_dump(mode="json", exclude=set(NOT_SENT))


class NamedEndpoint(Endpoint):
    """A file of `endpoints/`, asked as the model `endpoint/<id>`."""

    id: Identifier
    description: str = ""
    """Whose chatbot it is, and what for."""

    def bare(self) -> Endpoint:
        """The endpoint in the form it would have in another file."""
        return Endpoint.model_validate(self.model_dump(exclude={"id", "description"}))
