"""Requests and replies in the format of an endpoint's file, each value escaped for its place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from email.message import Message as Label
from typing import Any
from urllib.parse import quote, quote_plus, urlencode
from xml.sax.saxutils import escape

import orjson
import yarl

from biasgrid.catalogs.schema.endpoint_request import (
    EARLIER,
    HISTORY,
    MESSAGE,
    MODEL,
    SESSION,
    SYSTEM,
    VARIABLE,
    Call,
    fill_request,
    only,
    placeholders,
)
from biasgrid.catalogs.schema.endpoints import Endpoint, Turns, found_at, steps
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.text_safety import is_one_line
from biasgrid.tasks.connectors.api import ConnectorError, Reply, Request
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper
from biasgrid.tasks.connectors.client.transport import HttpReply, Outgoing
from biasgrid.tasks.connectors.json_objects import parse_body
from biasgrid.tasks.connectors.providers.chat import sampling_parameters
from biasgrid.tasks.connectors.side_fields import CHAT, build_reply

Values = Mapping[str, Any]
"""Values by placeholder: texts, numbers, lists of messages; None if unknown or not set."""
RESERVED = "%/:?[]@!$&'()*+,;=~{}"
QUOTES = {'"': "&quot;", "'": "&apos;"}


def placeholder_values(
    request: Request | None, session: str | None, name: str, turns: Turns, accepted: frozenset[str]
) -> Values:
    """Values of placeholders; `request` is None for an opening, `session` None until the chatbot assigns one."""
    known: dict[str, Any] = {SESSION: session, MODEL: name}
    if request is None:
        return known
    history = [
        {turns.role: turns.speakers.get(message.role, message.role), turns.content: message.content}
        for message in request.messages
    ]
    system = [message.content for message in request.messages if message.role == "system"]
    texts = {
        SYSTEM: "\n\n".join(system) or None,
        MESSAGE: request.messages[-1].content,
        HISTORY: history,
        EARLIER: history[:-1],
    }
    return known | texts | sampling_parameters(request, accepted)


def build_request(call: Call, values: Values, variables: Mapping[str, str]) -> Outgoing:
    """The request with all values filled in. Raises ValueError or TypeError for text that is not valid Unicode."""
    url = fill_request(quote(call.url, safe=RESERVED), lambda name: quote(_as_text(values.get(name)), safe=""))
    content = None if call.body is None else _build_content(call, values)
    headers = list(_build_headers(call, values, variables))
    return Outgoing(call.method, yarl.URL(url, encoded=True), headers, content)


def _build_headers(call: Call, values: Values, variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if call.body is not None:
        yield "Content-Type", call.sent_as
    for header, template in call.headers.items():
        if all(values.get(name) is not None for name in placeholders(template)):
            parts = VARIABLE.split(template)  # odd positions are names of variables
            yield (
                header,
                "".join(
                    variables[part] if place % 2 else fill_request(part, lambda name: str(values[name]))
                    for place, part in enumerate(parts)
                ),
            )


def _build_content(call: Call, values: Values) -> bytes:
    if isinstance(call.body, str):
        escaped = ESCAPES[call.kind]
        return fill_request(call.body, lambda name: escaped(_as_text(values.get(name)))).encode()
    body = _fill_template(call.body, values)
    if call.kind == "form":
        return urlencode({name: _as_text(value) for name, value in body.items()}).encode()
    return orjson.dumps(body)


ESCAPES: Mapping[str, Callable[[str], str]] = {
    "form": quote_plus,
    "xml": lambda text: escape(text, QUOTES),
    "text": lambda text: text,
}

LEFT_OUT = object()


def _fill_template(template: Any, values: Values) -> Any:
    """The template with its values as JSON values; entries without a value are left out."""
    if isinstance(template, dict):
        entries = ((key, _fill_template(value, values)) for key, value in template.items())
        return {key: value for key, value in entries if value is not LEFT_OUT}
    if isinstance(template, list):
        return [value for each in template if (value := _fill_template(each, values)) is not LEFT_OUT]
    if not isinstance(template, str):
        return template
    alone = only(template)
    if alone is not None:
        return LEFT_OUT if values.get(alone) is None else values[alone]
    return fill_request(template, lambda name: _as_text(values.get(name)))


def _as_text(value: Any) -> str:
    """A value as text; None is empty."""
    if value is None or isinstance(value, str):
        return value or ""
    return orjson.dumps(value).decode()


LONGEST_ID = 4096
LONGEST_NUMBER = 256
"""Bits; Python refuses to write numbers of thousands of digits."""


def read_body(target: Target, raw: bytes) -> Reply:
    """The reply in a stored body, as the endpoint's file of today describes it. Raises as `read_reply`."""
    assert target.endpoint is not None  # noqa: S101 - the connector has one
    return read_reply(target.endpoint, HttpReply(200, {}, raw), ErrorMapper(target), str)


def read_reply(endpoint: Endpoint, answered: HttpReply, faults: ErrorMapper, clean: Callable[[str], str]) -> Reply:
    """The reply in a body. Raises ServerFault for broken JSON, ReplyMisplaced if the text is missing."""
    if endpoint.reply is None:
        return build_reply(_decode_text(answered), clean=clean, host=faults.host)
    document = _parse_document(answered, faults)
    counts = (_find(document, endpoint.input_tokens), _find(document, endpoint.output_tokens))
    return build_reply(
        _read_text(document, endpoint.reply, answered, faults),
        usage=dict(zip(CHAT, counts, strict=True)),
        model_reported=_read_scalar(document, endpoint.model_reported) or _find(document, endpoint.model_reported),
        clean=clean,
        host=faults.host,
    )


def read_session_id(path: str, answered: HttpReply, faults: ErrorMapper) -> str:
    """The id that the chatbot gave to a conversation. Raises as `read_reply`."""
    document = _parse_document(answered, faults)
    found = _read_scalar(document, path)
    if found is None or not is_one_line(found) or len(found) > LONGEST_ID:
        what = f"no id of a conversation stands at `session_from: {path}`"
        raise faults.misplace(what, answered.body)
    return found


def _decode_text(answered: HttpReply) -> str:
    label = Label()
    label["content-type"] = answered.content_type
    try:
        return answered.body.decode(label.get_content_charset("utf-8"), errors="replace")
    except LookupError:  # an unknown charset
        return answered.body.decode(errors="replace")


def _parse_document(answered: HttpReply, faults: ErrorMapper) -> object:
    fault: ConnectorError
    try:
        return parse_body(answered.body)
    except ValueError:
        label, shown = answered.content_type, answered.beginning
        words = f"answered with no JSON ({label}): {shown}" if shown else f"answered with nothing ({label})"
        fault = faults.keep_body(faults.unreadable(words), answered.body)
    raise fault


def _read_text(document: object, path: str, answered: HttpReply, faults: ErrorMapper) -> str:
    try:
        values = list(found_at(document, steps(path)))
    except LookupError as lost:
        what = f"nothing stands at `reply: {path}`, from `{lost.args[0]}` on"
    else:
        if all(isinstance(value, str | int | float) for value in values):
            return "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values)
        what = f"what stands at `reply: {path}` is no text"
    raise faults.find_error(document) or faults.misplace(f"{what}; correct the endpoint's file", answered.body)


def _read_scalar(document: object, path: str | None) -> str | None:
    """The text or number at a path, or None."""
    found = _find(document, path)
    is_number = type(found) is int and found.bit_length() <= LONGEST_NUMBER
    return str(found) or None if isinstance(found, str) or is_number else None


def _find(document: object, path: str | None) -> object:
    """The first value at a path, or None."""
    try:
        return next(found_at(document, steps(path)), None) if path else None
    except LookupError:
        return None
