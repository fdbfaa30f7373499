"""Defines grammar errors, and finds those that a table of patterns describes."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slip:
    """An error: `found` is the text as written, `remedy` the correction, `start` its offset."""

    found: str
    remedy: str
    start: int = 0


Patterns = Iterable[tuple[re.Pattern[str], str]]
"""Patterns with remedies, in which `{1}` or `{name}` stands for a group of the match."""


def match_slips(text: str, patterns: Patterns) -> Iterator[Slip]:
    """An error for every match of a pattern in a text."""
    for pattern, remedy in patterns:
        for match in pattern.finditer(text):
            yield Slip(match[0], remedy.format(match[0], *match.groups(), **match.groupdict()), match.start())
