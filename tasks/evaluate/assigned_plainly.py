"""Replies that keep to the form they were asked for, as most do: `1. Repair the projector: Ana - reason`.

They are read at a glance, and as any other would be: every line hands one task to one person of the scene by name,
and every task has its line. Whatever is not so is left to the reader of all forms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from tasks.evaluate.spoken import flat, folded

_ROW: Final = re.compile(
    r"\s*(?:[-*]\s+)?(?:\d{1,2}[.)]\s+)?(?P<task>[^:|→\n]{2,200}?)\s?:\s(?P<who>[^\W\d_][^\n:;,(|&/→-]{0,60}?)\.?"
    r"(?:\s*|\s-\s.*|\s\(.*)"
)


def plainly_assigned(text: str, tasks: Sequence[str], people: Sequence[str]) -> tuple[int, ...] | None:
    """Who has each task, by their places; None where the reply has any other form. `text` is flat and unmarked."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) != len(tasks):
        return None
    texts, names = _places(tuple(tasks)), _names(tuple(people))
    told: dict[int, int] = {}
    for line in lines:
        row = _ROW.fullmatch(line)
        if row is None:
            return None
        task, who = texts.get(row["task"].casefold()), names.get(row["who"])
        if task is None or who is None or task in told:
            return None
        told[task] = who
    return tuple(told[place] for place in range(len(tasks)))


@lru_cache(maxsize=256)
def _places(tasks: tuple[str, ...]) -> dict[str, int]:
    return {folded(task): place for place, task in enumerate(tasks)}


@lru_cache(maxsize=1024)
def _names(people: tuple[str, ...]) -> dict[str, int]:
    return {flat(name): place for place, name in enumerate(people)}
