"""Replies with bounded side fields, whatever a server or a connector put there; the text is unchanged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Final

from biasgrid.tasks.connectors.api import Reply

MOST: Final = 10**9
"""No reply has as many tokens."""
LONGEST: Final = 200
"""Characters of a finish reason, an id or a model's name."""
QUOTED: Final = 60
CHAT: Final = ("prompt_tokens", "completion_tokens")


def _identity(text: str) -> str:
    return text


def build_reply(
    text: str,
    *,
    finish_reason: object = None,
    usage: object = None,
    model_reported: object = None,
    clean: Callable[[str], str] = _identity,
    host: str | None = None,
) -> Reply:
    """A reply whose `note` names each side field that was left out; `usage` has the names of `CHAT`, and `clean`
    removes keys."""
    fields = SideFields(clean)
    counts = fields.members("usage", usage)
    return Reply(
        text=clean(text),
        finish_reason=fields.label("finish_reason", finish_reason),
        input_tokens=fields.count(CHAT[0], counts.get(CHAT[0])),
        output_tokens=fields.count(CHAT[1], counts.get(CHAT[1])),
        model_reported=fields.label("model_reported", model_reported),
        note=fields.note,
        host=host,
    )


def is_sound(reply: Reply) -> bool:
    """Whether nothing of a reply needs to be left out or cut."""
    counts, labels = (reply.input_tokens, reply.output_tokens), (reply.finish_reason, reply.model_reported)
    return (
        type(reply.text) is str
        and all(count is None or (type(count) is int and 0 <= count < MOST) for count in counts)
        and all(label is None or (type(label) is str and len(label) <= 2 * LONGEST) for label in labels)
    )


def read_count(value: object) -> int | None:
    """A number of anything, or a time in seconds, as `SideFields.count` reads it."""
    return SideFields().count("", value, 10**12)


def read_label(value: object) -> str | None:
    """A text as `SideFields.label` reads it."""
    return SideFields().label("", value)


def read_object(value: object) -> Mapping[str, object]:
    """A JSON object; empty for anything else."""
    return SideFields().members("", value)


class SideFields:
    """Reads what a server states about a reply or a job; `note` collects what could not be used."""

    def __init__(self, clean: Callable[[str], str] = _identity) -> None:
        self._clean = clean
        self._notes: list[str] = []

    @property
    def note(self) -> str | None:
        return "; ".join(self._notes) or None

    def count(self, name: str, value: object, most: int = MOST) -> int | None:
        """A whole number from 0 to below `most`, also as text or as `7.0`; otherwise None and a note."""
        if type(value) is int and 0 <= value < most:
            return value
        digits = value.strip() if isinstance(value, str) else str(value) if isinstance(value, float) else ""
        whole = digits.removesuffix(".0")
        if whole.isascii() and whole.isdecimal() and len(whole) < len(str(most)):
            return int(whole)
        self._leave_out(name, "no number of tokens", value)
        return None

    def label(self, name: str, value: object) -> str | None:
        """A text, cut if it is long; None for an empty one, and with a note for another type."""
        if isinstance(value, str):
            text = self._clean(value)
            return (text if len(text) <= LONGEST else cut(text, LONGEST)) or None
        self._leave_out(name, "no text", value)
        return None

    def members(self, name: str, value: object) -> Mapping[str, object]:
        """A JSON object; empty, with a note, for anything else."""
        if isinstance(value, Mapping):
            return value
        self._leave_out(name, "no object", value)
        return {}

    def _leave_out(self, name: str, what: str, value: object) -> None:
        if value is not None:
            self._notes.append(f"`{name}` is {what} and was left out: {self._clean(_quote(value))}")


def cut(text: str, length: int) -> str:
    """A text of at most `length` characters, or its beginning with its length and the beginning of its hash."""
    if len(text) <= length:
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text[:length]}… ({len(text):,} characters, sha256 {digest})"


def _quote(value: object) -> str:
    """The beginning of a value, whose whole form may be millions of characters long."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, dict | list):
        return f"{type(value).__name__} of {len(value)}"
    shown = value if isinstance(value, str) else repr(value)
    return cut(shown, QUOTED)
