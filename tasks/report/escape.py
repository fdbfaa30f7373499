"""Numbers and texts as reports for programs tell them: nothing in them steers whoever shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from biasgrid.catalogs.text_safety import excerpt
from biasgrid.tasks.report.figures import share, signed

State = Literal["met", "not met", "undecided", "not evaluated"]
LONGEST = 300
"""Signs of a name that are shown."""
SYMBOLS: dict[State, str] = {"met": "✓", "not met": "✗", "undecided": "?", "not evaluated": "–"}
"""Beside colours, for who does not see them."""
_SIGN = re.compile(r"[^\w\s\-/,·–’×]|_")


def format_measure(value: float | None, unit: Literal["share", "score"]) -> str:
    """A share in percent, or a score from −1 to 1 with its sign; `none` where there is no number."""
    if value is None:
        return "none"
    return share(value) if unit == "share" else signed(value)


def join_parts(parts: Iterable[str]) -> str:
    return "; ".join(part for part in parts if part)


def escape_name(text: object) -> str:
    """On one line, control and format characters escaped, cut where it goes on and on."""
    return excerpt(" ".join(str(text).split()), LONGEST)


def escape_markdown(text: object) -> str:
    """As Markdown that shows the text as it is: every sign that Markdown, HTML or a table could read as a command
    is a character reference."""
    return _SIGN.sub(_reference, escape_name(text))


def _reference(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"


def format_code(text: object) -> str:
    """A name from a file, in Markdown: within `<code>` GitHub makes links neither of people nor of addresses."""
    return f"<code>{escape_markdown(text)}</code>"
