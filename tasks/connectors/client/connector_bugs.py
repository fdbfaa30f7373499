"""What a user's own connector may do wrong: raise anything, or return no reply. Its model alone stops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import extract_tb

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import ConnectorBroken, ConnectorError, Reply
from biasgrid.tasks.connectors.side_fields import CHAT, build_reply, is_sound
from biasgrid.warehouse.storage.errors import StorageTrouble


@contextmanager
def attribute_bugs(target: Target, code: object) -> Iterator[None]:
    """Raises ConnectorBroken, with file and line, in place of anything that `code` may not raise."""
    try:
        yield
    except (ConnectorError, TimeoutError, StorageTrouble, UserError):
        raise
    except Exception as bug:  # noqa: BLE001 - a user's code may raise anything; it is raised as an error of its model
        error = _bug_error(target, f"raised `{type(bug).__name__}`", _place(code, bug))
        raise error from None


def check_reply(target: Target, code: object, reply: object) -> Reply:
    """The reply with its side fields within bounds. Raises ConnectorBroken if it is none, or has no text."""
    if not isinstance(reply, Reply) or not isinstance(reply.text, str):
        returned = f"Reply(text={reply.text!r:.40})" if isinstance(reply, Reply) else type(reply).__name__
        raise _bug_error(target, f"returned `{returned}` in place of a `Reply` with a text", _place(code))
    if is_sound(reply):
        return reply
    counts = dict(zip(CHAT, (reply.input_tokens, reply.output_tokens), strict=True))
    labels = reply.finish_reason, reply.model_reported
    return build_reply(reply.text, finish_reason=labels[0], usage=counts, model_reported=labels[1])


def _bug_error(target: Target, what: str, place: str) -> ConnectorBroken:
    # the exception's own text is not quoted, as it may contain a key
    test = f"`biasgrid connector check {target.model}` tests it"
    return ConnectorBroken(f"`{target.model}`: its connector `{target.connector}` {what} ({place}); {test}")


def _place(code: object, error: BaseException | None = None) -> str:
    """File and line: the last frame in the file of a connector or function, else where that begins."""
    function = getattr(code, "ask", code)
    begins = getattr(getattr(function, "__func__", function), "__code__", None)
    frames = [(frame.filename, frame.lineno) for frame in extract_tb(error.__traceback__)] if error else []
    own = [frame for frame in frames if begins and frame[0] == begins.co_filename]
    start = [(begins.co_filename, begins.co_firstlineno)] if begins else []
    file, line = (own or start or frames or [(type(code).__name__, 0)])[-1]
    return f"{file}:{line}"
