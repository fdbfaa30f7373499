"""Detects, escapes and replaces invisible characters (Unicode categories Cc, Cf, Co, Cs, Zl and Zp)."""

# `tasks/report/site/dom.js` uses the same categories.

import re
from typing import Final

CONTROL: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f"
"""Cc without tab and line feed, as character class ranges for Python and Polars."""
JOINERS: Final = "\u200c\u200d"
"""Joiners that emoji and several scripts need; pages keep them."""
FORMAT: Final = (
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e007f"
)
"""Cf without the joiners."""
FILLERS: Final = "\u034f\u115f\u1160\u3164\uffa0\ufe00-\ufe0f"
"""Letters and marks without a glyph: ignored in comparisons, harmless in output."""
UNSEEN: Final = f"{CONTROL}{FORMAT}\u2028\u2029\ue000-\uf8ff\U000f0000-\U0010ffff"
"""All invisible characters except joiners, and except surrogates, which Polars' strings cannot hold."""
HIDDEN: Final = re.compile(f"[{UNSEEN}\ud800-\udfff]")
"""Characters that a page shows by code point."""
INVISIBLE: Final = re.compile(f"[{UNSEEN}{JOINERS}\ud800-\udfff]")
"""Characters that a terminal and a file show escaped."""
_NOT_ON_A_LINE: Final = re.compile(f"[\t\n{UNSEEN}{JOINERS}\ud800-\udfff]")


def escape(text: str) -> str:
    r"""The text with invisible characters escaped as in Python (`\x1b`); tabs and line breaks stay."""
    return INVISIBLE.sub(_escape_match, text)


def escape_line(text: str) -> str:
    """The text on one line, with tabs and line breaks escaped too."""
    return _NOT_ON_A_LINE.sub(_escape_match, text)


def excerpt(text: str, longest: int = 200) -> str:
    """The text on one line of at most `longest` characters, safe in comments and on terminals."""
    visible = escape_line(text)
    return visible if len(visible) <= longest else f"{visible[: longest - 1]}…"


def replace_invisible(text: str, sign: str = "\ufffd") -> str:
    """The text with `sign` for each invisible character, tab and line break."""
    return _NOT_ON_A_LINE.sub(sign, text)


def is_invisible(letter: str) -> bool:
    """Whether a character has no glyph or changes how others are displayed; false for a line break."""
    return letter != "\n" and _NOT_ON_A_LINE.match(letter) is not None


def is_one_line(text: str) -> bool:
    """Whether the text has no invisible characters, tabs or line breaks."""
    return _NOT_ON_A_LINE.search(text) is None


def first_invisible(text: str) -> str | None:
    """The first invisible character, tab or line break, escaped; None if there is none."""
    found = _NOT_ON_A_LINE.search(text)
    return None if found is None else _escape_match(found)


def code_point(found: re.Match[str]) -> str:
    """Code point of a matched character, such as `U+200B`."""
    return f"U+{ord(found[0]):04X}"


def json_escape(letter: str) -> str:
    r"""A character as a JSON escape: `\u` and four digits, or a surrogate pair beyond U+FFFF."""
    units = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def storable(text: str) -> str:
    """The text as valid UTF-8, with lone surrogates replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape_match(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
