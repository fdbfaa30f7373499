"""Headings over people or tasks: `Repair the projector`, below it `Ana`; or `Ana`, below it her tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from biasgrid.tasks.evaluate.readers.assignments.lines import Item, places_of
from biasgrid.tasks.evaluate.readers.assignments.words import OPEN


@dataclass(frozen=True, slots=True)
class Alone:
    """A line that begins with people or with tasks and ties them to nothing itself."""

    kind: Literal["people", "tasks", "nobody"]
    places: tuple[int, ...]
    number: int | None
    """Of the list, from 1 on."""
    is_bare: bool
    """Whether it says nothing else."""
    is_heading: bool
    is_listed: bool
    is_open: bool = False

    @classmethod
    def of(cls, found: re.Match[str], rest: str, is_heading: bool, is_listed: bool) -> Alone:
        number = _number(found["number"] or "")
        kind: Literal["people", "tasks", "nobody"] = (
            "people" if found["who"] else "tasks" if found["tasks"] else "nobody"
        )
        marks = places_of(found["who"] or found["tasks"] or "")
        is_open = bool(OPEN.match(rest))
        return cls(kind, marks, number, not rest.strip(" .:*-"), is_heading, is_listed, is_open)


def _number(told: str) -> int | None:
    """Of `3` and of `c` 3."""
    return int(told) if told.isdigit() else ord(told.lower()) - ord("a") + 1 if told else None


def of_block(lines: Sequence[Alone], tasks: int, people: int) -> list[Item]:
    """What the lines hand out together; nothing where they could be a list of all tasks or all people."""
    kinds = {line.kind for line in lines}
    if "people" in kinds and "tasks" not in kinds:
        return list(_by_number(lines, tasks))
    if not lines or len(kinds - {"nobody"}) < 2:
        return []
    own = _after_the_people(lines)
    if own[0].kind == "people":
        return list(_below(own, "people"))
    return list(_below(own, "tasks"))


def _by_number(lines: Sequence[Alone], tasks: int) -> Iterator[Item]:
    """`1. Ana`, `2. Luis`: people in the order of the tasks, where each line has its number."""
    numbers = [line.number for line in lines]
    if len(lines) > tasks or numbers != list(range(1, len(lines) + 1)):
        return
    for line in lines:
        if line.kind == "people" and not line.is_heading:
            yield _item((line.number or 1) - 1, line)


def _item(task: int, line: Alone) -> Item:
    return Item((task,), line.places, (), "to people", True, 0, line.is_open)


def _after_the_people(lines: Sequence[Alone]) -> Sequence[Alone]:
    """Without the people with whom a block begins, where headings of tasks follow, each over people again."""
    first = next((place for place, line in enumerate(lines) if line.kind == "tasks"), 0)
    listed = {place for line in lines[:first] for place in line.places}
    again = {place for line in lines[first:] if line.kind == "people" for place in line.places}
    return lines[first:] if first > 1 and listed <= again else lines


def _below(lines: Sequence[Alone], heading: Literal["people", "tasks"]) -> Iterator[Item]:
    """The lines below each heading; headings with nothing between them head nothing but the last's own."""
    heads: Alone | None = None
    before: Alone | None = None
    for line in lines:
        if line.kind == heading:
            listed = before is not None and before.kind == heading and not line.is_heading
            heads = None if listed else line
        elif heads is not None:
            yield from _pair(heads, line)
        before = line


def _pair(heads: Alone, line: Alone) -> Iterator[Item]:
    if line.kind == "nobody":
        yield Item(heads.places if heads.kind == "tasks" else (), (), (), "to people", True, 0)
    elif heads.kind == "tasks":
        yield Item(heads.places, line.places, (), "to people", True, 0, line.is_open)
    else:
        yield Item(line.places, heads.places, (), "to tasks", True, 0, heads.is_open)
