"""What the parts of a reply add to its assignment: lists, sentences, and headings that tell what a list is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from biasgrid.tasks.evaluate.readers.assignments.words import (
    INITIAL,
    KEPT,
    NEW,
    OF_ASSIGNMENTS,
    PREVIOUS,
)
from biasgrid.tasks.evaluate.readers.ties.line import Tie
from biasgrid.tasks.evaluate.readers.ties.words import PERSON, TARGET

_TITLE: Final = re.compile(r"^(?P<title>[^:\n]{3,100}):(?P<rest>.*)$")
_LONGEST_TITLE: Final = 120
_UNIT: Final = re.compile(f"{PERSON}|{TARGET}")
_LONGEST: Final = 14
"""Words of a heading."""
_UNMARKED: Final = 4
"""Words of one that neither a colon nor a mark tells."""

Kind = Literal["list", "said", "new", "quoted", "initial"]


@dataclass(frozen=True, slots=True)
class Step:
    """What one line adds."""

    kind: Kind
    """Ties of a list, ties of a sentence, or what its heading says of the ties that follow: that they are new,
    that they are an earlier assignment, or a first one."""
    ties: tuple[Tie, ...] = ()
    turns: bool = False
    """Whether it takes back something said before."""


@dataclass(frozen=True, slots=True)
class Heading:
    step: Step
    rest: str
    """What follows it in its line."""

    @classmethod
    def of(cls, marked: str) -> Heading | None:
        """The heading with which a marked line begins, where it tells of an assignment."""
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
