"""Assignments in tables: a row per task or per person, a column per task or per person, or cells that are ticked.

A cell counts where it holds people or tasks from its start on: what a column of reasons says counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from biasgrid.tasks.evaluate.readers.assignments.lines import Item, places_of, row_items, strangers
from biasgrid.tasks.evaluate.readers.assignments.marks import Marking
from biasgrid.tasks.evaluate.readers.assignments.words import (
    BOTH,
    EVERYBODY,
    LABEL,
    LEAD,
    NOBODY,
    OPEN,
    PEOPLE,
    STRANGERS,
    TASKS,
    without_others,
)
from biasgrid.tasks.evaluate.readers.pairings.tables import ticked

_PEOPLE: Final = re.compile(rf"(?i)\W*(?:{LABEL}(?P<who>{PEOPLE})(?P<rest>[\s.,;]*$|\s*[-(,:;.].*$))")
_STRANGERS: Final = re.compile(rf"\W*(?P<who>{STRANGERS})")
_TASKS: Final = re.compile(rf"(?i){LEAD}{LABEL}(?P<who>{TASKS})")
_ALL: Final = re.compile(rf"(?i)\W*(?:{EVERYBODY}|(?P<both>{BOTH}))\W*$")
_NOBODY: Final = re.compile(rf"(?i)\W*(?:{NOBODY})?\W*$")
_PERSONS: Final = re.compile(
    r"(?i)\W*(?:assign\w*(?: to)?|agent|person|people|who|name|member|owner|responsible|assignee|asignad[oa](?:"
    r" a)?|agente"
    r"|persona|nombre|responsable|encargad[oa]|quien|participante|miembro)\w*\W*$"
)
"""The header of a column of people."""


@dataclass(frozen=True, slots=True)
class Cell:
    tasks: tuple[int, ...] = ()
    people: tuple[int, ...] = ()
    invented: tuple[str, ...] = ()
    is_nobody: bool = False
    is_open: bool = False
    by_number: bool = False
    """Whether it is a task's number and nothing else."""

    @classmethod
    def of(cls, text: str, marking: Marking, people: int) -> Cell:
        """What a cell holds, where it begins with it."""
        if text.strip().isdigit():
            place = int(text) - 1
            return cls(tasks=(place,), by_number=True) if 0 <= place < len(marking.stems.of_task) else cls()
        marked = marking.person(text) or without_others(marking.marked(text))
        if found := _TASKS.match(marked):
            return cls(tasks=places_of(found["who"]))
        if found := _PEOPLE.match(marked):
            return cls(people=places_of(found["who"]), is_open=bool(OPEN.match(found["rest"])))
        if _NOBODY.match(marked):
            return cls(is_nobody=True)
        if all_ := _ALL.match(marked):
            return cls() if all_["both"] and people != 2 else cls(people=tuple(range(people)))
        found = _TASKS.match(marking.with_labels(marked))
        named = _STRANGERS.match(marked)
        return (
            cls(tasks=places_of(found["who"])) if found else cls(invented=strangers(named["who"]) if named else ())
        )


def read_rows(rows: Sequence[Sequence[str]], marking: Marking, people: int) -> list[Item]:
    """`rows` without rules; the first may be a header."""
    header: list[Cell] = []
    items: list[Item] = []
    persons: int | None = None
    for row in rows:
        cells = [Cell.of(text, marking, people) for text in row]
        if _is_header(cells) and not _fits(cells, header):
            header = cells
        elif persons is None and not items and not header and _column(row) is not None:
            persons = _column(row)
        else:
            items += _of_row(row, cells, header, persons) or _in_cells(row, marking, people)
    return items


def _column(row: Sequence[str]) -> int | None:
    return next((place for place, text in enumerate(row) if _PERSONS.match(text)), None)


def _is_header(cells: Sequence[Cell]) -> bool:
    tasks = {cell.tasks for cell in cells if cell.tasks and not cell.by_number}
    people = {cell.people for cell in cells if cell.people}
    return (len(tasks) > 1 and not people) or (len(people) > 1 and not tasks)


def _fits(cells: Sequence[Cell], header: Sequence[Cell]) -> bool:
    """Whether people stand below tasks, or tasks below people."""
    of_tasks = any(cell.tasks for cell in cells)
    return bool(_below(header, "people" if of_tasks else "tasks"))


def _of_row(row: Sequence[str], cells: Sequence[Cell], header: Sequence[Cell], persons: int | None) -> list[Item]:
    tasks = _tasks(cells)
    people = _people(cells, persons)
    if tasks and people is not None and not _below(header, "people"):
        return [_item(tasks, people, "to people")]
    if tasks and header and sum(bool(cell.tasks) for cell in cells if not cell.by_number) == 1:
        placed = ticked(row, _below(header, "people"))
        if placed:
            return [_item(tasks, header[place], "to people") for place in placed]
    over = _below(header, "tasks")
    held = [place for place in over if place < len(cells) and (cells[place].people or cells[place].invented)]
    if held:
        return [_item(header[place].tasks, cells[place], "to people") for place in held]
    return list(_under_people(row, cells, header))


def _under_people(row: Sequence[str], cells: Sequence[Cell], header: Sequence[Cell]) -> Iterator[Item]:
    """The tasks below each person, or those ticked in the row of one."""
    for place in _below(header, "people"):
        if place < len(cells) and cells[place].tasks:
            yield _item(cells[place].tasks, header[place], "to tasks")
    who = next((cell for cell in cells if cell.people), None)
    for place in ticked(row, _below(header, "tasks")) if who else ():
        yield _item(header[place].tasks, who or Cell(), "to tasks")


def _below(header: Sequence[Cell], kind: str) -> list[int]:
    return [place for place, cell in enumerate(header) if (cell.tasks if kind == "tasks" else cell.people)]


def _tasks(cells: Sequence[Cell]) -> tuple[int, ...]:
    """The tasks of the first cell that tells them by their text, else by their number."""
    told = [cell.tasks for cell in cells if cell.tasks]
    by_text = [cell.tasks for cell in cells if cell.tasks and not cell.by_number]
    return next(iter(by_text or told), ())


def _people(cells: Sequence[Cell], persons: int | None) -> Cell | None:
    """The cell of people: that of their column, else the first that holds any."""
    if persons is not None and persons < len(cells):
        own = cells[persons]
        return own if own.people or own.invented or own.is_nobody else None
    return next((cell for cell in cells if cell.people), None)


def _item(tasks: tuple[int, ...], who: Cell, form: str) -> Item:
    return Item(
        tasks, who.people, who.invented, "to tasks" if form == "to tasks" else "to people", True, 0, who.is_open
    )


def _in_cells(row: Sequence[str], marking: Marking, people: int) -> list[Item]:
    """What a row says that is a line with bars."""
    marked = marking.marked(" - ".join(text for text in row if text))
    return row_items(marked, people) if re.search("[\ue000-\ue0fe]", marked) else []
