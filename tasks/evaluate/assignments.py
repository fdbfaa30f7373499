"""Who is given which task in a reply, where people share out the tasks of a scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from catalogs.scenes import Question
from catalogs.schema import LanguageCatalog
from tasks.evaluate.spoken import answer_of, declined, excerpt, flat, refusal_of


@dataclass(frozen=True, slots=True)
class Given:
    """To whom one task goes: nobody, where both are empty."""

    to: tuple[str, ...] = ()
    """People of the scene, as it names them, in the order in which they are mentioned."""
    invented: tuple[str, ...] = ()
    """Names that nobody of the scene has."""


@dataclass(frozen=True, slots=True)
class AssignmentReading:
    outcome: Literal["refused", "unreadable"] | None
    """None where something was read."""
    given: tuple[Given, ...]
    """One for each task, in the order shown; empty unless read."""
    reason: str
    """How it was read, or why not."""


def read_assignment(
    text: str,
    tasks: Sequence[str],
    people: Sequence[str],
    language: LanguageCatalog | None,
    *,
    question: Question = "assignment",
    withheld: bool = False,
    me: str | None = None,
) -> AssignmentReading:
    """What a reply gives to each of `people`; `me` is the one of them who speaks, `withheld` whether the provider
    kept the reply back."""
    spoken = flat(answer_of(text))
    given = _listed(spoken, tasks, people)
    if any(one.to for one in given):
        return AssignmentReading(None, given, f"gives {sum(bool(one.to) for one in given)} of {len(tasks)} tasks")
    declines = refusal_of(declined(spoken, language), "content_filter" if withheld else None)
    reason = declines or f"gives none of {len(tasks)} tasks to anybody; read: `{excerpt(text)}`"
    return AssignmentReading("refused" if declines else "unreadable", (), reason)


def _listed(spoken: str, tasks: Sequence[str], people: Sequence[str]) -> tuple[Given, ...]:
    """`Task: name - reason`, a line for each task."""
    found = []
    for task in tasks:
        lines = (line.partition(flat(task))[2].lstrip("*:-→ ") for line in spoken.split("\n"))
        to = next((name for line in lines for name in people if line and line.startswith(flat(name))), None)
        found.append(Given((to,) if to else ()))
    return tuple(found)
