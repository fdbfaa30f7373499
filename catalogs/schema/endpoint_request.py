"""Defines an endpoint's HTTP request: its parts, placeholders and secrets."""

import re
from collections.abc import Callable, Iterator
from typing import Literal, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field, JsonValue, field_validator, model_validator

from biasgrid.catalogs.errors import nearest
from biasgrid.catalogs.schema.base import Frozen

MESSAGE, SYSTEM, HISTORY, EARLIER = "message", "system", "history", "earlier"
SESSION, MODEL = "session", "model"
PARAMETERS = ("temperature", "max_tokens", "seed")
LISTS = (HISTORY, EARLIER)
KNOWN = (MESSAGE, SYSTEM, HISTORY, EARLIER, SESSION, MODEL, *PARAMETERS)
"""message: the last message; system: the system message, if there is one; history: all messages, a list of
`role` and `content`, the system message first; earlier: the same without the last message; session: the
conversation's id; model: the endpoint's name; parameters, where they are set."""

PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}|(?<!\$)\{([a-z_]+)\}")
"""Doubled braces write a name in single ones; braces around anything else stand for themselves."""
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""An environment variable, `${MY_BOT_KEY}`."""


def placeholders(text: str) -> tuple[str, ...]:
    """Distinct placeholder names of a text, in order."""
    return tuple(dict.fromkeys(found[2] for found in PLACEHOLDER.finditer(text) if found[2]))


def only(text: str) -> str | None:
    """Placeholder name, if the text is a single placeholder, else None."""
    found = PLACEHOLDER.fullmatch(text)
    return found[2] if found else None


def fill_request(text: str, value: Callable[[str], str]) -> str:
    """The text with each placeholder replaced by `value(name)`; inserted text is not searched again."""
    return PLACEHOLDER.sub(lambda found: value(found[2]) if found[2] else f"{{{found[1]}}}", text)


def variables(text: str) -> tuple[str, ...]:
    """Distinct environment variables of a text, in order."""
    return tuple(dict.fromkeys(VARIABLE.findall(text)))


NAMED = re.compile(
    r"authorization|^cookie$|(?:^|[-_.]|access|auth|api|client|bearer)(?:token|secret|password|credentials?)$"
    r"|(?:access|auth|api|client|subscription|secret)[-_.]?key$|^x-.*key$",
    re.IGNORECASE,
)
"""What is called so holds a secret."""
SCHEME = re.compile(r"^\s*(?:bearer|basic|token|apikey|key)\b", re.IGNORECASE)
SHAPED = re.compile(
    r"^\s*(?:[Bb]earer|[Bb]asic)\s+\S|(?<!\w)(?:sk|rk|pk|hf|r8|gh[pousr]|xox[abp])[-_][\w-]{6,}|eyJ[\w-]{10,}\."
)
"""What looks like a secret whatever it is called: credentials with a scheme, vendors' keys, JSON web tokens."""
RANDOM = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{32,}")
SHORT = 6
"""Fewer characters are no secret."""


def is_secret(name: str, value: str) -> bool:
    """Whether a value, without its placeholders, looks like a key or password."""
    literal = VARIABLE.sub("", PLACEHOLDER.sub("", value))
    if SHAPED.search(literal) or RANDOM.search(literal):
        return True
    return bool(NAMED.search(name)) and len(SCHEME.sub("", literal).strip()) >= SHORT


BodyKind = Literal["json", "form", "xml", "text"]

JSON_TYPE, FORM_TYPE, TEXT_TYPE = (
    "application/json",
    "application/x-www-form-urlencoded",
    "text/plain; charset=utf-8",
)
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
OURS = {"content-type": "write `content_type`", "content-length": "leave it out", "host": "write it in the `url`"}
"""Headers that are ours to send, and what to do in their place."""
ONLY_IN_BODIES = (*LISTS, *PARAMETERS)
WHOLE = (*LISTS, *PARAMETERS)
"""What is no text: it stands alone as a value."""
BY_VARIABLE = "keys never stand in files: name an environment variable in a header, as `${MY_BOT_KEY}`"


class Call(Frozen):
    method: Literal["GET", "POST", "PUT", "PATCH"] = "POST"
    url: str = Field(min_length=1, examples=["https://bot.example.com/api/chat"])
    """Begins with http:// or https://. What is filled in is percent-encoded: `…/ask?q={message}`."""
    headers: dict[str, str] = Field(default_factory=dict)
    """`${MY_BOT_KEY}` is the value of that environment variable: the only way to send a key."""
    body: JsonValue = None
    """A mapping or a list is sent as JSON, what is filled in as values of it; a text as it is, what is filled in
    escaped for its `content_type`. An entry that is one placeholder without a value is left out."""
    content_type: str | None = None
    """By default JSON for a mapping or a list, plain text for a text. `application/x-www-form-urlencoded` sends a
    mapping, or a text, as a form."""

    @field_validator("url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        if "@" in url.partition("://")[2].partition("/")[0]:
            return url  # refused below, where the message does not quote the password
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.netloc.isascii()
            usable = usable and parts.port != 0
        except ValueError:  # a port that is no number, or half an IPv6 address
            usable = False
        if not usable or any(letter.isspace() for letter in url):
            raise ValueError("must be an address that begins with http:// or https://")
        if placeholders(parts.netloc) or parts.fragment:
            raise ValueError("must have its host written out, and no `#`")
        _refuse(url, ONLY_IN_BODIES, "stands in bodies only")
        return url

    @field_validator("headers")
    @classmethod
    def _are_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
                raise ValueError(f"no header can be called and hold what stands at `{name[:40]}`")
            if name.lower() in OURS:
                raise ValueError(f"`{name}` is set by us: {OURS[name.lower()]}")
            _refuse(value, (MESSAGE, SYSTEM, *ONLY_IN_BODIES), "cannot be sent in a header")
            if is_secret(name, value):
                raise ValueError(f"`{name}` holds what looks like a key; {BY_VARIABLE}")
        return headers

    @field_validator("body")
    @classmethod
    def _is_body(cls, body: JsonValue) -> JsonValue:
        if not isinstance(body, dict | list | str | None):
            raise ValueError("must be a mapping, a list or a text")  # noqa: TRY004 - pydantic reports ValueErrors
        for key, text in _texts(body):
            _refuse(text, () if only(text) else WHOLE, "is no text: let it stand alone, as a value of its own")
            if is_secret(key, text) or variables(text):
                raise ValueError(f"holds what looks like a key at `{key}`; {BY_VARIABLE}")
        return body

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        query = parse_qsl(urlsplit(self.url).query)
        if "@" in urlsplit(self.url).netloc or variables(self.url) or any(is_secret(*pair) for pair in query):
            raise ValueError(f"`url` holds what looks like a key or a password; {BY_VARIABLE}")
        if self.body is None:
            return self
        if self.method == "GET":
            raise ValueError("`body`: a GET has none; write `method: POST`, or what is sent into the `url`")
        if self.kind == "json" and isinstance(self.body, str):
            raise ValueError("`body`: write JSON as a mapping or a list, so that what is filled in stays a value")
        if self.kind in ("xml", "text") and not isinstance(self.body, str):
            raise ValueError(f"`content_type` is `{self.content_type}`, and `body` is no text")
        if self.kind == "form" and not isinstance(self.body, str) and not _is_flat(self.body):
            raise ValueError("`body`: a form holds texts under their names, nothing deeper")
        if isinstance(self.body, str) and only(self.body) in WHOLE and self.kind != "form":
            raise ValueError(f"`body`: `{self.body}` is no text; write a mapping that holds it")
        return self

    @property
    def kind(self) -> BodyKind:
        """Encoding of placeholder values in the body."""
        named = (self.content_type or (TEXT_TYPE if isinstance(self.body, str) else JSON_TYPE)).lower()
        mime = named.partition(";")[0].strip()
        if mime == FORM_TYPE:
            return "form"
        if mime.endswith(("/json", "+json")):
            return "json"
        return "xml" if mime.endswith(("/xml", "+xml", "/html")) else "text"

    @property
    def sent_as(self) -> str:
        """Value of the Content-Type header."""
        by_kind = {"json": JSON_TYPE, "form": FORM_TYPE}
        return self.content_type or by_kind.get(self.kind, TEXT_TYPE)

    def asks_for(self) -> frozenset[str]:
        """Placeholders of its address, headers and body."""
        texts = [self.url, *self.headers.values(), *(text for _, text in _texts(self.body))]
        return frozenset(name for text in texts for name in placeholders(text))

    def named_variables(self) -> Iterator[tuple[str, str]]:
        """Each environment variable, with its header."""
        for header, value in self.headers.items():
            for name in variables(value):
                yield name, header


def _refuse(text: str, misplaced: tuple[str, ...], why: str) -> None:
    for name in placeholders(text):
        if name not in KNOWN:
            near = nearest(name, KNOWN)
            raise ValueError(
                f"`{{{name}}}` is nothing that is filled in ({near}); doubled braces write it as it is"
            )
        if name in misplaced:
            raise ValueError(f"`{{{name}}}` {why}")


def _texts(value: JsonValue, key: str = "body") -> Iterator[tuple[str, str]]:
    """Every text of a body with its key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry, key)
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from _texts(entry, name)


def _is_flat(body: JsonValue) -> bool:
    return isinstance(body, dict) and not any(isinstance(value, dict | list) for value in body.values())
