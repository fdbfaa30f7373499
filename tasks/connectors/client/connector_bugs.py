"""What a user's own connector may do wrong: raise anything, or return no reply. Its model alone stops."""

from __future__ import annotations

from traceback import extract_tb

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import ConnectorBroken, ConnectorError, Reply
from biasgrid.tasks.connectors.side_fields import CHAT, build_reply, is_sound
from biasgrid.warehouse.storage.errors import StorageTrouble


class attribute_bugs:  # noqa: N801 - a context manager, entered at each request
    """Raises ConnectorBroken, with file and line, in place of anything that `code` may not raise."""

    __slots__ = ("_code", "_target")

    def __init__(self, target: Target, code: object) -> None:
        self._target, self._code = target, code

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, bug: BaseException | None, *__: object) -> None:
        if isinstance(bug, Exception) and not isinstance(bug, EXPECTED):
            raise _bug_error(self._target, f"raised `{type(bug).__name__}`", _place(self._code, bug)) from None


EXPECTED = (ConnectorError, TimeoutError, StorageTrouble, UserError)


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
