"""Assignments in JSON, by whatever keys: as rows of tasks and people, as tables have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from biasgrid.tasks.evaluate.readers.assignments.lines import Item
from biasgrid.tasks.evaluate.readers.assignments.marks import Marking
from biasgrid.tasks.evaluate.readers.assignments.tables import Cell
from biasgrid.tasks.evaluate.readers.loose_json import Object, Value, values_in

_OF_TASKS: Final = re.compile(r"(?i)\W*(?:task|tarea|job|description|title|duty|number|id)s?(?:[_ ]?\w*)?\W*$")
_OF_PEOPLE: Final = re.compile(
    r"(?i)\W*(?:(?:assigned|given)?[_ ]?(?:to|agent|person|people|name|member|owner|who|assignee|leader|agente"
    r"|persona"
    r"|nombre|responsable|responsible|asignad[oa]|encargad[oa]))s?(?:[_ ](?:to|a|name))?\W*$"
)
_OF_ALL: Final = re.compile(
    r"(?i)(?:people|participants|agents|members|characters|personas|participantes|agentes)$"
)


def read_assigned_objects(flat_text: str, marking: Marking, people: int) -> list[list[Item]]:
    """What each outermost value hands out, of those that hand out anything."""
    found = (list(_items(value, marking, people)) for value in values_in(flat_text))
    return [items for items in found if items]


def _items(value: Value, marking: Marking, people: int) -> Iterator[Item]:
    if isinstance(value, list):
        for item in value:
            yield from _items(item, marking, people)
    elif isinstance(value, Object):
        own = _row(value, marking, people)
        yield from [own] if own else _members(value, marking, people)


def _row(value: Object, marking: Marking, people: int) -> Item | None:
    """`{"task": …, "agent": …}`: one member tells tasks, another people."""
    tasks = [cell for key, held in value.members if _OF_TASKS.match(key) for cell in _cells(held, marking, people)]
    by_text = [cell for cell in tasks if cell.tasks and not cell.by_number] or [
        cell for cell in tasks if cell.tasks
    ]
    who = next((held for key, held in value.members if _OF_PEOPLE.match(key)), None)
    cells = list(_cells(who, marking, people))
    if not by_text or not cells:
        return None
    places = tuple(place for cell in by_text for place in cell.tasks)
    return _joined(places, cells)


def _members(value: Object, marking: Marking, people: int) -> Iterator[Item]:
    """By their keys. What hands out several tasks is read below its key, whichever task that sounds like."""
    for key, held in value.members:
        own = Cell.of(_spaced(key), marking, people)
        if _OF_ALL.match(key):
            continue
        below = list(_items(held, marking, people))
        if len({task for item in below for task in item.tasks}) > 1:
            yield from below
        elif own.tasks:
            cells = list(_cells(_person_of(held), marking, people))
            yield from [_joined(own.tasks, cells)] if cells else []
        elif own.people or (own.invented and isinstance(held, list | Object)):
            told = [cell for cell in _cells(held, marking, people) if cell.tasks]
            places = tuple(place for cell in told for place in cell.tasks)
            yield from [Item(places, own.people, own.invented, "to tasks", True, 0)] if places else []
        else:
            yield from below


def read_chosen_objects(flat_text: str, marking: Marking, people: int) -> list[list[Item]]:
    """Whom each outermost value names under a key for it."""
    found = []
    for value in values_in(flat_text):
        held = [one for key, one in value.members if _OF_PEOPLE.match(key)] if isinstance(value, Object) else []
        found.append([_joined((0,), list(_cells(one, marking, people))) for one in held[:1]])
    return [items for items in found if any(item.people or item.invented for item in items)]


def _person_of(held: Value) -> Value:
    """Of an object that tells who and why, who."""
    if not isinstance(held, Object):
        return held
    named = [one for key, one in held.members if _OF_PEOPLE.match(key)]
    return named[0] if named else held.members[0][1] if held.members else None


def _cells(held: Value, marking: Marking, people: int) -> Iterator[Cell]:
    """The cells of a value: itself, those of a list, or of an object's members."""
    if isinstance(held, str):
        yield Cell.of(held, marking, people)
    elif isinstance(held, list):
        for item in held:
            yield from _cells(item, marking, people)
    elif held:
        keys = [cell for cell in (Cell.of(_spaced(key), marking, people) for key, _ in held.members) if cell.tasks]
        yield from keys
        for _, item in held.members if not keys else ():
            yield from _cells(item, marking, people)


def _joined(tasks: tuple[int, ...], cells: list[Cell]) -> Item:
    who = tuple(dict.fromkeys(place for cell in cells for place in cell.people))
    invented = tuple(dict.fromkeys(name for cell in cells for name in cell.invented))
    return Item(tasks, who, invented, "to people", True, 0, any(cell.is_open for cell in cells))


def _spaced(key: str) -> str:
    """`task_1` and `task1` as `task 1`."""
    return re.sub(r"(?<=[a-z])(?=\d)", " ", key.replace("_", " "))
