"""The greeting at the beginning of a message, and the message without it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

AFTER = r"(?:[\s,.;:!?…)–—-]*[,.;:!?…)–—](?=\s|$)\s*|\s+|$)"
"""What parts a greeting from the message: `Hi-fi` and `Hello-Kitty` begin with none."""


def greeting_of(message: str, greetings: Iterable[str]) -> str:
    """The beginning of the message that greets, with the marks and blanks after it; empty where it does not greet
    or does nothing else."""
    found = _pattern(tuple(greetings)).match(message)
    return found[0] if found and found.end() < len(message) else ""


@lru_cache(maxsize=64)
def _pattern(greetings: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(greetings, key=len, reverse=True)
    words = "|".join(re.escape(greeting).replace(r"\ ", r"\s+") for greeting in longest_first)
    return re.compile(rf"\s*(?:[¡¿]?(?:{words})(?!\w){AFTER})+", re.IGNORECASE)
