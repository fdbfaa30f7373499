"""Characters that nobody sees, and how they are told of."""

from __future__ import annotations

import re

HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)
"""Control and format characters, by which a text could hide what it says or change in what order it is read."""


def numbered(found: re.Match[str]) -> str:
    """One of them by its number, such as `U+200B`."""
    return f"U+{ord(found[0]):04X}"
