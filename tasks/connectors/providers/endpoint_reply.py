"""What a chatbot behind HTTP answered, read as its endpoint's file says."""

from __future__ import annotations

import json
from email.message import Message as Label

from biasgrid.catalogs.scenario.reply_paths import found_at, steps
from biasgrid.catalogs.schema.endpoints import Endpoint
from biasgrid.catalogs.text_safety import is_one_line
from biasgrid.tasks.connectors.api import ConnectorError, Reply
from biasgrid.tasks.connectors.client.error_mapping import Faults
from biasgrid.tasks.connectors.client.http_exchange import Answered
from biasgrid.tasks.connectors.client.response_body import loads

PAGE = (b"<!doctype html", b"<html")
LONGEST_ID = 4096


def read_reply(endpoint: Endpoint, answered: Answered, faults: Faults) -> Reply:
    """Raises ServerFault where a page, nothing or broken JSON came, which passes; ReplyMisplaced where the JSON
    has no text at `reply`, which does not."""
    if endpoint.reply is None:
        return Reply(_plain(answered, faults))
    document = _document(answered, faults)
    return Reply(
        text=_reply_text(document, endpoint.reply, answered, faults),
        input_tokens=_count(document, endpoint.input_tokens),
        output_tokens=_count(document, endpoint.output_tokens),
        model_reported=_told(document, endpoint.model_reported),
    )


def given_session(path: str, answered: Answered, faults: Faults) -> str:
    """The id that the chatbot gave a conversation. Raises as `read_reply`."""
    document = _document(answered, faults)
    found = _told(document, path)
    if found is None or not is_one_line(found) or len(found) > LONGEST_ID:
        raise faults.misplaced(f"no id of a conversation stands at `session_from: {path}`", _begin(answered.body))
    return found


def _plain(answered: Answered, faults: Faults) -> str:
    if answered.body.lstrip()[:20].lower().startswith(PAGE):
        raise faults.server("answered with a page of HTML in place of a reply")
    label = Label()
    label["content-type"] = answered.content_type
    try:
        return answered.body.decode(label.get_content_charset("utf-8"), errors="replace")
    except LookupError:  # a charset that nobody knows
        return answered.body.decode(errors="replace")


def _document(answered: Answered, faults: Faults) -> object:
    fault: ConnectorError
    try:
        return loads(answered.body)
    except ValueError:
        label = answered.content_type or "no content type"
        body = answered.body.strip()
        if not body:
            fault = faults.server(f"answered with nothing ({label})")
        elif body[:1] == b"<" or "html" in label:
            fault = faults.server(f"answered with a page in place of JSON ({label}): {_begin(body)}")
        else:
            fault = faults.server(f"answered with no JSON ({label}): {_begin(body)}")
    raise fault


def _reply_text(document: object, path: str, answered: Answered, faults: Faults) -> str:
    try:
        values = list(found_at(document, steps(path)))
    except LookupError as lost:
        what = f"nothing stands at `reply: {path}`, from `{lost.args[0]}` on"
    else:
        if all(isinstance(value, str | int | float) for value in values):
            return "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values)
        what = f"what stands at `reply: {path}` is no text"
    raise faults.misplaced(f"{what}; correct the endpoint's file", _begin(answered.body))


def _told(document: object, path: str | None) -> str | None:
    """A text or a number beside the reply; None where none stands there."""
    try:
        found = next(found_at(document, steps(path)), None) if path else None
    except LookupError:
        return None
    is_told = isinstance(found, str | int) and not isinstance(found, bool)
    return str(found) or None if is_told else None


def _count(document: object, path: str | None) -> int | None:
    told = _told(document, path)
    return int(told) if told and told.isascii() and told.isdecimal() and len(told) < 10 else None


def _begin(body: bytes) -> str:
    return body[:1000].decode(errors="replace")
