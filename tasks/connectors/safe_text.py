"""Texts of any origin, made harmless to show and to store."""

from __future__ import annotations

import unicodedata

INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def shown(text: str, longest: int = 200) -> str:
    """A text on one line, with every control and format character escaped: safe in a comment and a terminal."""
    visible = "".join(
        letter if unicodedata.category(letter) not in INVISIBLE else _escaped(letter) for letter in text
    )
    return visible if len(visible) <= longest else f"{visible[: longest - 1]}…"


def invisible(letter: str) -> bool:
    """Whether a character shows nothing of its own, or steers what others show; a line break is none of them."""
    return letter != "\n" and unicodedata.category(letter) in INVISIBLE


def storable(text: str) -> str:
    """A text that UTF-8 can hold: halves of characters replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def hidden(text: str) -> str | None:
    """The first character that shows nothing of its own, escaped; None where there is none."""
    found = next((letter for letter in text if unicodedata.category(letter) in INVISIBLE), None)
    return None if found is None else _escaped(found)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode()
