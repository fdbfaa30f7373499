"""Which of the assignments that a reply tells is its own, and its last.

An earlier one that it quotes is none where it goes on to assign; a heading that announces a new one takes back all
before. A list told a second time takes the place of the first; single tasks told again, with second thoughts, of
what they say. Sentences count where no list says more, or take back what it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from biasgrid.tasks.evaluate.readers.assignments.steps import Step
from biasgrid.tasks.evaluate.readers.ties.line import Tie


@dataclass(slots=True)
class Standing:
    """What has been told so far."""

    of_task: dict[int, Tie] = field(default_factory=dict)
    """By task, what counts; a task handed on by two lines of one list has both."""
    listed: list[int] = field(default_factory=list)
    """Tasks of the list that is being told, in its order."""
    had: set[int] = field(default_factory=set)
    """People that this list has handed something."""
    is_quoted: bool = False
    quoted: dict[int, Tie] = field(default_factory=dict)
    doubtful: set[int] = field(default_factory=set)
    is_list: bool = False


def last_told(steps: Sequence[Step], tasks: int) -> dict[int, Tie]:
    """The item that counts for each task that is handed to somebody, or to nobody in so many words."""
    standing = Standing()
    for step in _own(steps):
        if step.kind in ("new", "quoted", "initial"):
            _begin(standing, step)
        elif step.kind == "list":
            _list(standing, step, tasks)
        else:
            _say(standing, step)
    _end_quote(standing)
    found = standing.of_task or (standing.quoted if _may_quote(steps) else {})
    return {task: item for task, item in found.items() if task not in standing.doubtful and not item.is_open}


def _own(steps: Sequence[Step]) -> Iterable[Step]:
    """Without sentences before the first list: they weigh what the list then settles."""
    lists = [place for place, step in enumerate(steps) if step.kind == "list"]
    news = [place for place, step in enumerate(steps) if step.kind == "new"]
    settled = max([place for place in lists if not news or place > news[-1]] or lists or [0])
    first = max([place for place in news if place <= settled] or lists[:1] or [0])
    return [step for place, step in enumerate(steps) if step.kind != "said" or not lists or place > first]


def _may_quote(steps: Sequence[Step]) -> bool:
    """Whether an earlier assignment that alone is told may be the reply's own."""
    headings = [step for step in steps if step.kind in ("quoted", "initial", "new")]
    return any(step.kind == "initial" or step.turns for step in headings)


def _begin(standing: Standing, step: Step) -> None:
    _end_quote(standing)
    standing.listed, standing.had = [], set()
    if step.kind == "new":
        standing.of_task, standing.is_list = {}, False
    standing.is_quoted = step.kind in ("quoted", "initial")


def _end_quote(standing: Standing) -> None:
    if standing.is_quoted:
        standing.quoted, standing.of_task, standing.is_quoted = standing.of_task, {}, False


def _list(standing: Standing, step: Step, tasks: int) -> None:
    told = [task for item in step.ties for task in item.targets]
    people = {person for item in step.ties for person in item.people}
    again = set(told) & set(standing.listed)
    by_people = all(item.form == "to targets" for item in step.ties)
    if again and (not by_people or people & standing.had or len(set(standing.listed)) == tasks):
        _again(standing, step)
    for item in step.ties:
        for task in item.targets:
            both = task in standing.listed and by_people
            standing.of_task[task] = _together(standing.of_task[task], item) if both else item
            standing.doubtful.discard(task)
            standing.listed.append(task)
    standing.had |= people
    standing.is_list = True


def _again(standing: Standing, step: Step) -> None:
    """A list begins anew; where it is an earlier one's end, that was the one quoted."""
    _end_quote(standing)
    standing.listed, standing.had = [], set()


def _together(one: Tie, two: Tie) -> Tie:
    people = tuple(dict.fromkeys([*one.people, *two.people]))
    invented = tuple(dict.fromkeys([*one.strangers, *two.strangers]))
    return replace(one, people=people, strangers=invented, end=two.end, is_open=one.is_open or two.is_open)


def _say(standing: Standing, step: Step) -> None:
    """A sentence adds what is not told yet; with second thoughts it replaces, without them it leaves in doubt."""
    for item in step.ties:
        for task in item.targets:
            before = standing.of_task.get(task)
            if before is None or step.turns:
                standing.of_task[task] = item
                standing.doubtful.discard(task)
            elif not standing.is_list and before.people != item.people:
                standing.doubtful.add(task)
