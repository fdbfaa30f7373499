"""Finds the last assignment that is a reply's own, not a quoted earlier one.

A heading that announces a new assignment cancels all before it; a second list replaces the first; tasks repeated
as a correction replace their own. Sentences count unless a list has more tasks, or if they correct it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from biasgrid.tasks.evaluate.readers.assignments.words import INITIAL, KEPT, NEW, OF_ASSIGNMENTS, PREVIOUS
from biasgrid.tasks.evaluate.readers.ties.line import Tie
from biasgrid.tasks.evaluate.readers.ties.words import PERSON, TARGET

_TITLE: Final = re.compile(r"^(?P<title>[^:\n]{3,100}):(?P<rest>.*)$")
_LONGEST_TITLE: Final = 120
_UNIT: Final = re.compile(f"{PERSON}|{TARGET}")
_LONGEST: Final = 14
"""Maximum words of a heading."""
_UNMARKED: Final = 4
"""Maximum words of a heading without a colon or #."""

Kind = Literal["list", "sentence", "new", "quoted", "initial", "swap", "join", "retract"]


@dataclass(frozen=True, slots=True)
class Step:
    """Content of one line."""

    kind: Kind
    """Ties of a list or a sentence, or what a heading announces of the ties that follow: that they are new,
    that they are an earlier assignment, or a first one."""
    ties: tuple[Tie, ...] = ()
    turns: bool = False
    """Whether it cancels earlier assignments."""


@dataclass(frozen=True, slots=True)
class Heading:
    step: Step
    rest: str
    """The rest of its line."""

    @classmethod
    def of(cls, marked: str) -> Heading | None:
        """The assignment heading at the start of a marked line, or None."""
        titled = _TITLE.match(marked)
        title = titled["title"] if titled else marked[:_LONGEST_TITLE]
        if _UNIT.search(title) or not (titled or _is_marked(marked, title)):
            return None
        kind = _kind(title) if len(title.split()) <= _LONGEST and OF_ASSIGNMENTS.search(title) else None
        return cls(Step(kind, turns=bool(KEPT.search(marked))), titled["rest"] if titled else "") if kind else None


def _is_marked(line: str, title: str) -> bool:
    return line.lstrip().startswith("#") or (len(title.split()) <= _UNMARKED and "." not in title)


def _kind(title: str) -> Kind | None:
    if PREVIOUS.search(title):
        return "quoted"
    if NEW.search(title):
        return "new"
    return "initial" if INITIAL.search(title) else None


@dataclass(slots=True)
class Standing:
    """Assignments read so far."""

    of_task: dict[int, Tie] = field(default_factory=dict)
    """Current ties by task; a task that two lines of one list assign has both."""
    listed: list[int] = field(default_factory=list)
    """Tasks of the current list, in its order."""
    had: set[int] = field(default_factory=set)
    """People to whom this list has assigned a task."""
    is_quoted: bool = False
    quoted: dict[int, Tie] = field(default_factory=dict)
    before: dict[int, Tie] = field(default_factory=dict)
    """What stood above the last heading that announced something new."""
    doubtful: set[int] = field(default_factory=set)
    is_list: bool = False
    last: tuple[int, ...] = ()
    """The tasks of the step before."""


def latest_ties(steps: Sequence[Step], tasks: int) -> dict[int, Tie]:
    """The final tie of each task that is given to people, or explicitly to none."""
    standing = Standing()
    own = own_steps(steps)
    last = max((place for place, step in enumerate(own) if step.kind == "list"), default=0)
    for place, step in enumerate(own):
        if step.kind in ("new", "quoted", "initial"):
            _begin(standing, step)
        elif step.kind == "list":
            _list(standing, step, tasks if place < last else len(steps))
        elif step.kind == "swap":
            _swap(standing, step)
        elif step.kind == "join":
            _join(standing, step)
        elif step.kind == "retract":
            standing.of_task = {task: tie for task, tie in standing.of_task.items() if task not in standing.last}
        else:
            _say(standing, step)
    _end_quote(standing)
    found = standing.of_task or (standing.quoted if _may_quote(steps) else {}) or standing.before
    return {task: item for task, item in found.items() if task not in standing.doubtful and not item.is_open}


def own_steps(steps: Sequence[Step]) -> Sequence[Step]:
    """Steps without the sentences before the first list, which only prepare it."""
    lists = [place for place, step in enumerate(steps) if step.kind == "list"]
    news = [place for place, step in enumerate(steps) if step.kind == "new"]
    settled = max([place for place in lists if not news or place > news[-1]] or lists or [0])
    first = max([place for place in news if place <= settled] or lists[:1] or [0])
    return [step for place, step in enumerate(steps) if step.kind != "sentence" or not lists or place > first]


def _may_quote(steps: Sequence[Step]) -> bool:
    """Whether an earlier assignment without a later one may be the reply's own."""
    headings = [step for step in steps if step.kind in ("quoted", "initial", "new")]
    return any(step.kind == "initial" or step.turns for step in headings)


def _begin(standing: Standing, step: Step) -> None:
    _end_quote(standing)
    standing.listed, standing.had = [], set()
    if step.kind == "new":
        standing.before = standing.of_task or standing.before
        standing.of_task, standing.is_list = {}, False
    standing.is_quoted = step.kind in ("quoted", "initial")


def _end_quote(standing: Standing) -> None:
    if standing.is_quoted:
        standing.quoted, standing.of_task, standing.is_quoted = standing.of_task, {}, False


def _list(standing: Standing, step: Step, most: int) -> None:
    """Adds a line of a list, which begins another list where one of `most` tasks repeats a task or a person."""
    named = [task for item in step.ties for task in item.targets]
    people = {person for item in step.ties for person in item.people}
    again = set(named) & set(standing.listed)
    by_people = all(item.form == "to targets" for item in step.ties)
    if again and (not by_people or people & standing.had or len(set(standing.listed)) == most):
        _again(standing, step)
    for item in step.ties:
        for task in item.targets:
            both = named.count(task) > 1 or by_people
            both &= task in standing.listed
            standing.of_task[task] = _together(standing.of_task[task], item) if both else item
            standing.doubtful.discard(task)
            standing.listed.append(task)
    standing.had |= people
    standing.is_list = True


def _swap(standing: Standing, step: Step) -> None:
    """Exchanges the tasks of two people: of those named, or of the others who have any."""
    named, are_others = step.ties[0].people, step.ties[0].whom == "the rest"
    held = dict.fromkeys(person for tie in standing.of_task.values() for person in tie.people)
    both = [person for person in held if person not in named] if are_others else named
    other = dict(zip(both, reversed(both), strict=True)) if len(both) == 2 else {}
    for task, tie in standing.of_task.items():
        standing.of_task[task] = replace(tie, people=tuple(other.get(person, person) for person in tie.people))


def _join(standing: Standing, step: Step) -> None:
    """Adds a person to those who have a task: the one named, or the last."""
    for item in step.ties:
        targets = item.targets or standing.last
        for task in targets if len(targets) == 1 else ():
            if task in standing.of_task:
                standing.of_task[task] = _together(standing.of_task[task], item)


def _again(standing: Standing, step: Step) -> None:
    """Begins a new list; if it only ends an earlier list, that list was the quoted one."""
    _end_quote(standing)
    standing.listed, standing.had = [], set()


def _together(one: Tie, two: Tie) -> Tie:
    people = tuple(dict.fromkeys([*one.people, *two.people]))
    invented = tuple(dict.fromkeys([*one.strangers, *two.strangers]))
    return replace(one, people=people, strangers=invented, end=two.end, is_open=one.is_open or two.is_open)


def _say(standing: Standing, step: Step) -> None:
    """Adds new ties of a sentence; known tasks are replaced if it corrects itself or is clearer, else left in
    doubt."""
    standing.last = step.ties[-1].targets
    for item in step.ties:
        for task in item.targets:
            before = standing.of_task.get(task)
            if before is None or step.turns or before.strength < item.strength:
                standing.of_task[task] = item
                standing.doubtful.discard(task)
            elif not standing.is_list and before.people != item.people and before.strength == item.strength:
                standing.doubtful.add(task)
