"""Safe output for encodings that cannot represent all characters."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Mapping
from typing import Final, TextIO

from biasgrid.catalogs.text_safety import json_escape

MARKS: Final = {
    "█": "#",
    "·": ".",
    "…": "...",
    "→": "->",
    "×": "x",
    "✓": "+",
    "✗": "x",
    "≥": ">=",
    "≤": "<=",
    **dict.fromkeys("–—−", "-"),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("“”„«»", '"'),
}
"""What stands for our own marks in plainer encodings."""
FOR_PEOPLE: Final = "biasgrid.people"
FOR_PROGRAMS: Final = "biasgrid.programs"


def _escape(error: UnicodeError, marks: Mapping[str, str]) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unheld = error.object[error.start : error.end]
    return "".join(marks.get(letter) or json_escape(letter) for letter in unheld), error.end


codecs.register_error(FOR_PEOPLE, lambda error: _escape(error, MARKS))
codecs.register_error(FOR_PROGRAMS, lambda error: _escape(error, {}))


def set_plain_output() -> None:
    """From now on stdout and stderr put our marks in plainer ones where they must, and escape the rest."""
    for stream in (sys.stdout, sys.stderr):
        _on_error(stream, FOR_PEOPLE)


def write_data(text: str) -> None:
    """Data for other programs, to stdout: what its encoding cannot hold is escaped, never put in other words."""
    _on_error(sys.stdout, FOR_PROGRAMS)
    sys.stdout.write(text)


def _on_error(stream: TextIO, handler: str) -> None:
    if isinstance(stream, io.TextIOWrapper):  # who embeds the command may have put something else there
        stream.reconfigure(errors=handler)
