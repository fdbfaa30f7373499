"""Assignments in one marked line: `⟨task⟩: ⟨person⟩ - reason`, `⟨person⟩ → ⟨task⟩, ⟨task⟩`, or a sentence.

A line goes on as it begins, from tasks to people or from people to tasks. What follows the people is a reason, in
which others may be named, up to the next task that is set apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from biasgrid.tasks.evaluate.readers.assignments.words import (
    ANY_LINK,
    BOTH,
    DENIES,
    EVERYBODY,
    INVENTED,
    LABEL,
    LEAD,
    LISTED,
    NO_PERSON,
    NOBODY,
    OF_OTHERS,
    OPEN,
    PEOPLE,
    PERSON,
    PLACE,
    SEPARATES,
    STRANGERS,
    TASK,
    TASKS,
    TASKS_OF_ONE,
    TO_PEOPLE,
    TO_TASKS,
    without_others,
)

Form = Literal["to people", "to tasks"]

_GROUP: Final = rf"(?P<all>{EVERYBODY})|(?P<both>{BOTH})(?!\s*{PERSON})|(?P<nobody>{NOBODY})"
_FROM_TASKS: Final = re.compile(
    rf"(?i)(?P<tasks>{TASKS})(?P<gap>{TO_PEOPLE})(?:{_GROUP}|(?P<who>{PEOPLE})(?!\s*'s\b|\w))"
)
_FROM_TASKS_TO_STRANGERS: Final = re.compile(rf"(?i)(?P<tasks>{TASKS})(?P<gap>{TO_PEOPLE})(?P<who>{STRANGERS})")
_FROM_PEOPLE: Final = re.compile(
    rf"(?i)(?:{_GROUP}|(?P<who>{PEOPLE}))(?P<gap>{TO_TASKS})(?P<tasks>{TASKS_OF_ONE})"
)
_FROM_STRANGERS: Final = re.compile(rf"(?i)(?P<who>{INVENTED})(?P<gap>\s*(?::|→|=|-)\s*)(?P<tasks>{TASKS})")
_START: Final = re.compile(rf"(?i){LEAD}{LABEL}")
_JOINT: Final = re.compile(
    rf"(?i)[\])\"']*\s*(?:\([^()]*\)\s*)?(?:[;,.|]|\b(?:and|y|e|while|whereas|mientras que|mientras)\b)*[\s]*"
    rf"(?:\d{{1,2}}[.)]\s*)?(?:\b(?:and|y|e|then|the|el|la|los|las|that)\b\s*)*{LABEL}"
)
_APART: Final = re.compile(r"[;.]\s*|\s(?=\d{1,2}[.)]\s)|,\s(?=[\ue100-\ue1ff]\s*[:→=-])|\s-\s|\s(?=\ue100\s*:)")
_ANEW: Final = re.compile(rf"(?i),?\s*\b(?:and|while|whereas|y|mientras que|mientras)\b\s*(?={PERSON}|{TASK})")
_SPEAKS: Final = re.compile(rf"(?i)[^\w\ue000-\ue2ff]*({PERSON})(?:\s?\([^()]{{0,40}}\))?\s*:\s*(?=.)")
_CLAUSE: Final = re.compile(
    rf"(?i)(?:{PERSON}(?:\s*{ANY_LINK})*+\s*{TASK}|{TASK}(?:\s*{ANY_LINK})++\s*{PERSON})(?!\s*[:=→])"
)
"""People and a task with nothing but words between them, from which a sentence goes on either way."""
_RESPECTIVELY: Final = re.compile(r"(?i)\b(?:respectiv|in (?:this|that) order\b|(?:en|por) (?:este|ese) orden\b)")
_CLEAR: Final = re.compile(rf"(?i){LISTED}")
_MARK: Final = re.compile(f"{PERSON}|{TASK}")
_UNIT: Final = re.compile(f"(?i){PERSON}|{TASK}|(?<!with )(?<!con )(?:{EVERYBODY}|{BOTH})")


@dataclass(frozen=True, slots=True)
class Item:
    """Tasks handed to people, as one stretch of a line says it."""

    tasks: tuple[int, ...]
    """By their places."""
    people: tuple[int, ...]
    """By their places."""
    invented: tuple[str, ...]
    form: Form
    is_set_apart: bool
    """Whether a colon, a dash or a bracket stands between them, as in a list."""
    end: int
    is_open: bool = False
    """Whether it says `or`: then it tells nobody."""
    is_clear: bool = True
    """Whether nothing is said of the people but why."""


def row_items(marked: str, people: int) -> list[Item]:
    """The items of a line from its start on; none where it begins otherwise. `people`: how many there are."""
    text = without_others(marked)
    start = _START.match(text)
    position = start.end() if start else 0
    first = _item(text, position, None, people)
    if first is None:
        return []
    items = [first]
    while following := _next(text, items[-1], people):
        items.append(following)
    return _in_order(text, items)


def sentence_items(marked: str, people: int) -> list[Item]:
    """The items of a sentence, wherever they stand, but what it denies or leaves open."""
    text = without_others(marked)
    found: list[Item] = []
    begin = 0
    while unit := _UNIT.search(text, begin):
        item = _item(text, unit.start(), None, people, unknown=False)
        if item is None or DENIES.search(text[begin : item.end]):
            again = _ANEW.search(text, unit.end())
            if found or item or again is None:
                begin = again.end() if again else len(text)
                continue
            begin = unit.end()
            continue
        found.append(item)
        joint = _JOINT.match(text, item.end)
        following = joint and (
            _CLAUSE.match(text, joint.end()) or _item(text, joint.end(), item.form, people, unknown=False)
        )
        again = _ANEW.search(text, item.end)
        begin = joint.end() if joint and following else again.end() if again else len(text)
    return _in_order(text, found)


def _in_order(text: str, items: list[Item]) -> list[Item]:
    """With as many tasks as people in a row, each to the one in its place, where the text says so."""
    if not _RESPECTIVELY.search(text):
        return items
    return [one for item in items for one in _paired(item)]


def _paired(item: Item) -> list[Item]:
    if len(item.tasks) != len(item.people):
        return [item]
    return [
        replace(item, tasks=(task,), people=(person,))
        for task, person in zip(item.tasks, item.people, strict=True)
    ]


def is_own(sentence: str) -> bool:
    """Whether a sentence neither asks nor tells what others think."""
    return not sentence.rstrip("\"') ").endswith("?") and OF_OTHERS.search(sentence) is None


def speaker(marked: str) -> re.Match[str] | None:
    """Where a line tells who says what follows: a person and a colon before a task that goes to somebody."""
    return _SPEAKS.match(marked)


def _item(text: str, position: int, form: Form | None, people: int, unknown: bool = True) -> Item | None:
    """What begins at a position, in a form or any."""
    if form != "to tasks":
        found = _FROM_TASKS.match(text, position)
        named = _FROM_TASKS_TO_STRANGERS.match(text, position) if unknown else None
        if named and (not found or named.end() > found.end()) and strangers(named["who"]):
            return _read(named, text, "to people", people)
        if found:
            return _read(found, text, "to people", people)
    if form != "to people":
        found = _FROM_PEOPLE.match(text, position) or (_FROM_STRANGERS.match(text, position) if unknown else None)
        if found and (re.search(PERSON, found.group()) or not found["who"] or strangers(found["who"])):
            return _read(found, text, "to tasks", people)
    return None


def _read(found: re.Match[str], text: str, form: Form, people: int) -> Item:
    named = found.groupdict()
    who = found["who"] or ""
    everybody = named.get("all") or (named.get("both") and people == 2)
    to = tuple(range(people)) if everybody else places_of(who)
    is_open = bool(OPEN.match(text, found.end())) and form == "to people"
    is_open |= bool(named.get("both")) and people != 2
    apart = bool(SEPARATES.search(found["gap"]))
    clear = bool(_CLEAR.match(text, found.end()))
    return Item(places_of(found["tasks"]), to, strangers(who), form, apart, found.end(), is_open, clear)


def places_of(marked: str) -> tuple[int, ...]:
    """The places of the people, or of the tasks, whose marks stand in a text."""
    return tuple(dict.fromkeys(ord(mark) & PLACE for mark in _MARK.findall(marked)))


def strangers(who: str) -> tuple[str, ...]:
    """Names in a row of people that are none of the scene."""
    bare = re.sub(r"[(\[][^()\[\]]*[)\]]", " ", who)
    names = re.findall(INVENTED, bare)
    return tuple(name for name in names if not any(word.lower() in NO_PERSON for word in name.split()))


def _next(text: str, before: Item, people: int) -> Item | None:
    """The item that follows at once, or after a reason, set apart as a list is."""
    joint = _JOINT.match(text, before.end)
    item = _item(text, joint.end(), before.form, people) if joint else None
    if item:
        return item
    for apart in _APART.finditer(text, before.end):
        start = _START.match(text, apart.end())
        item = _item(text, start.end() if start else apart.end(), before.form, people)
        if item and item.is_set_apart and not set(item.tasks) & set(before.tasks):
            return item
    return None
