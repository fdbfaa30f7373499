"""Replies that keep to the form they were asked for, as most do: `1. Repair the projector: Ana - reason`, or an
object that lists tasks by their numbers.

They are read at a glance, and as any other would be: every entry hands one task to one person of the scene by
name, and every task has its entry. Whatever is not so is left to the reader of all forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import orjson

from tasks.evaluate.spoken import flat, folded

_ROW: Final = re.compile(
    r"\s*(?:[-*]\s+)?(?:\d{1,2}[.)]\s+)?(?P<task>[^:|→\n]{2,200}?)\s?:\s(?P<who>[^\W\d_][^\n:;,(|&/→-]{0,60}?)\.?"
    r"(?:\s*|\s-\s.*|\s\(.*)"
)

Entry = tuple[int | None, int | None]
"""A task and a person by their places; None where it is neither's number or name."""


def plainly_assigned(text: str, tasks: Sequence[str], people: Sequence[str]) -> tuple[int, ...] | None:
    """Who has each task, by their places; None where the reply has any other form. `text` is flat and unmarked."""
    places, names = _places(tuple(tasks)), _names(tuple(people))
    told: dict[int, int] = {}
    for task, who in _entries(text, len(tasks), places, names):
        if task is None or who is None or task in told:
            return None
        told[task] = who
    return tuple(told[place] for place in range(len(tasks))) if len(told) == len(tasks) else None


def _entries(text: str, tasks: int, places: dict[str, int], names: dict[str, int]) -> Iterator[Entry]:
    if text.startswith("{"):
        yield from _of_object(text, tasks, names)
        return
    lines = [line for line in text.split("\n") if line.strip()]
    for line in lines if len(lines) == tasks else ():
        row = _ROW.fullmatch(line)
        yield (places.get(row["task"].casefold()), names.get(row["who"])) if row else (None, None)


def _of_object(text: str, tasks: int, names: dict[str, int]) -> Iterator[Entry]:
    """Of `{"assignments": [{"task": 1, "person": …, …}, …], …}`."""
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError:
        return
    listed = said.get("assignments") if isinstance(said, dict) else None
    for entry in listed if isinstance(listed, list) else ():
        task, who = (entry.get("task"), entry.get("person")) if isinstance(entry, dict) else (None, None)
        number = task if isinstance(task, int) and 1 <= task <= tasks else None
        yield number - 1 if number else None, names.get(who) if isinstance(who, str) else None


@lru_cache(maxsize=256)
def _places(tasks: tuple[str, ...]) -> dict[str, int]:
    return {folded(task): place for place, task in enumerate(tasks)}


@lru_cache(maxsize=1024)
def _names(people: tuple[str, ...]) -> dict[str, int]:
    return {flat(name): place for place, name in enumerate(people)}
