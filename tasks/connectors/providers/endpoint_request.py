"""From an endpoint's description to the request that is sent: each value in its place, escaped for that place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus, urlencode
from xml.sax.saxutils import escape

import orjson

from biasgrid.catalogs.scenario.endpoint_placeholders import (
    EARLIER,
    HISTORY,
    MESSAGE,
    MODEL,
    SESSION,
    SYSTEM,
    VARIABLE,
    filled,
    only,
    placeholders,
)
from biasgrid.catalogs.schema.endpoint_request import Call
from biasgrid.catalogs.schema.endpoints import Turns
from biasgrid.tasks.connectors.api import Request
from biasgrid.tasks.connectors.providers.chat import sampling

Values = Mapping[str, Any]
"""By placeholder: texts, numbers, lists of messages; None for what is not known or not set."""
RESERVED = "%/:?[]@!$&'()*+,;=~{}"
QUOTES = {'"': "&quot;", "'": "&apos;"}


@dataclass(frozen=True, slots=True)
class Outgoing:
    method: str
    url: str
    """Percent-encoded."""
    headers: Mapping[str, str]
    content: bytes | None


def values_of(
    request: Request | None, session: str | None, name: str, turns: Turns, accepted: frozenset[str]
) -> Values:
    """What can be filled in. `request`: None for an opening, which says nothing. `session`: None before the
    chatbot has given one."""
    known: dict[str, Any] = {SESSION: session, MODEL: name}
    if request is None:
        return known
    said = [
        {turns.role: turns.speakers.get(message.role, message.role), turns.content: message.content}
        for message in request.messages
    ]
    system = [message.content for message in request.messages if message.role == "system"]
    told = {
        SYSTEM: "\n\n".join(system) or None,
        MESSAGE: request.messages[-1].content,
        HISTORY: said,
        EARLIER: said[:-1],
    }
    return known | told | sampling(request, accepted)


def outgoing(call: Call, values: Values, variables: Mapping[str, str]) -> Outgoing:
    """Raises ValueError (UnicodeEncodeError) or TypeError (orjson.JSONEncodeError) for text that is no Unicode."""
    url = filled(quote(call.url, safe=RESERVED), lambda name: quote(_text(values.get(name)), safe=""))
    content = None if call.body is None else _content(call, values)
    headers = dict(_headers(call, values, variables))
    return Outgoing(call.method, url, headers, content)


def _headers(call: Call, values: Values, variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if call.body is not None:
        yield "Content-Type", call.sent_as
    for header, template in call.headers.items():
        if all(values.get(name) is not None for name in placeholders(template)):
            parts = VARIABLE.split(template)  # the names of variables at odd places
            yield (
                header,
                "".join(
                    variables[part] if place % 2 else filled(part, lambda name: str(values[name]))
                    for place, part in enumerate(parts)
                ),
            )


def _content(call: Call, values: Values) -> bytes:
    if isinstance(call.body, str):
        escaped = ESCAPES[call.kind]
        return filled(call.body, lambda name: escaped(_text(values.get(name)))).encode()
    body = _in_place(call.body, values)
    if call.kind == "form":
        return urlencode({name: _text(value) for name, value in body.items()}).encode()
    return orjson.dumps(body)


ESCAPES: Mapping[str, Callable[[str], str]] = {
    "form": quote_plus,
    "xml": lambda text: escape(text, QUOTES),
    "text": lambda text: text,
}

LEFT_OUT = object()


def _in_place(template: Any, values: Values) -> Any:
    """The template with its values as JSON values; an entry without a value is left out."""
    if isinstance(template, dict):
        entries = ((key, _in_place(value, values)) for key, value in template.items())
        return {key: value for key, value in entries if value is not LEFT_OUT}
    if isinstance(template, list):
        return [value for each in template if (value := _in_place(each, values)) is not LEFT_OUT]
    if not isinstance(template, str):
        return template
    alone = only(template)
    if alone is not None:
        return LEFT_OUT if values.get(alone) is None else values[alone]
    return filled(template, lambda name: _text(values.get(name)))


def _text(value: Any) -> str:
    """A value where only text can stand; none is empty."""
    if value is None or isinstance(value, str):
        return value or ""
    return orjson.dumps(value).decode()
