"""Ties of a sentence clause by clause: each mentions one person and one task, or completes the previous one.

Weaker evidence than the words of `ties.line`: it counts only for tasks that nothing clearer gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final

from biasgrid.tasks.evaluate.readers.assignments.words import DENIES, Stems
from biasgrid.tasks.evaluate.readers.reply_text import pattern
from biasgrid.tasks.evaluate.readers.ties.line import Tie, people_in, places_of
from biasgrid.tasks.evaluate.readers.ties.words import PEOPLE, PERSON, TITLE

CLAUSE, ANSWERED, CARRIED = 1, 0.9, 0
"""Strengths of ties: within one clause, and from a clause to the next, which is bare or not."""
_BREAK: Final = re.compile(
    rf"(?i)(?P<segment>[;:]\s|\s-+\s|,?\s(?P<turn>{pattern('contrasts')}|{pattern('but')})\s)"
    rf"|[,?]\s+(?:{pattern('joins_clauses')}\s)?|\s{pattern('joins_clauses')}\s"
)
_PEOPLE: Final = re.compile(PERSON)
_ROW: Final = re.compile(rf"(?i){PEOPLE}")
_TITLES: Final = re.compile(rf"(?i)\W*{TITLE}\s*")
_OWNER: Final = re.compile(rf"{PERSON}'s\b(?! (?:the|an?|our|on|in|at|up|out|not|already|\w+ing)\b)")
_REASON: Final = re.compile(
    rf"(?i)\W*{pattern('causes')}\b(?!.{{0,99}}?({PERSON}).{{0,99}}?\1.{{0,99}}?\b{pattern('able')}\b)"
)
"""A reason, unless it ends with what its person can do."""
_OTHER_PERSON: Final = re.compile(
    rf"\bI(?:'ll|'d| will| would| can| could)?(?: also| gladly| happily)?"
    rf" (?!{pattern('gives_me', 'english')})[\w\ue100-\ue2ff]"
    rf"|\b(?i:yo|jo)\b(?! (?i:{pattern('gives_me', 'spanish')}|{pattern('gives_me', 'catalan')}))"
    rf"|(?i:\b{pattern('someone')}\b)"
)
"""Words for a person who is not known: `I` where the reply has no speaker, a pronoun that can mean several."""
_OTHER_WORDS: Final = re.compile(rf"(?i)(?!{TITLE}{PERSON})\b(?!{pattern('title')}\b)\w")
_OR: Final = re.compile(rf"(?i)\s{pattern('left_open')}\s")
_STOP: Final = re.compile(r"[,;:.]")
_MOST_PEOPLE: Final = 2
"""Longest row of people that a clause may give a task."""
_RESUMES: Final = re.compile(rf"(?<![\w']){pattern('resumes')}(?!\w)|\b{pattern('decides')}\b")


@dataclass(frozen=True, slots=True)
class Clause:
    """What a stretch of a sentence mentions."""

    people: tuple[int, ...] = ()
    """Those of its only row; empty where it has several."""
    owner: tuple[int, ...] = ()
    """The person of whom it only mentions a quality, as in `Ana's skills`."""
    tasks: tuple[int, ...] = ()
    begins: bool = True
    """Whether it begins a segment of the sentence."""
    turns: bool = False
    """Whether it begins with a word such as `but`."""
    is_denied: bool = False
    is_left: bool = False
    """Whether it leaves open who does what."""
    left: tuple[int, ...] = ()
    """The tasks that it expressly leaves open."""
    resumes: bool = False
    """Whether it has a word for a task named before."""
    is_open: bool = False
    """Whether it does so expressly."""
    is_reason: bool = False
    """Whether it only gives a reason, which is about a task."""

    @property
    def is_empty(self) -> bool:
        """Whether it mentions nothing, as `of course not`."""
        return not (self.people or self.owner or self.tasks or self.is_left)


def may_resume(text: str) -> bool:
    """Whether a text has a word for a task named before, or decides."""
    return _RESUMES.search(text.lower()) is not None


def read_clauses(text: str, stems: Stems) -> tuple[list[Tie], set[int]]:
    """The ties of a marked sentence without excluded people, weakest evidence included, and the tasks that it
    leaves open."""
    reader = _ClauseReader(list(_clauses(text, stems)))
    ties = reader.read()
    return ties, reader.left - {task for tie in ties for task in tie.targets}


@dataclass(slots=True)
class _ClauseReader:
    clauses: Sequence[Clause]
    ties: list[Tie] = field(default_factory=list)
    left: set[int] = field(default_factory=set)
    """Tasks that are expressly left open."""
    named: set[int] = field(default_factory=set)
    """Tasks that were named since the last tie."""
    leaves: bool = False
    """Whether the clause before leaves tasks open."""
    who: tuple[int, ...] = ()
    """The people of the clause before."""
    topic: tuple[int, ...] = ()
    """A task that was named without its person."""
    cause: tuple[int, ...] = ()
    """The task of a reason just before."""
    is_denied: bool = False
    """Whether the topic was denied to a person."""
    refused: tuple[int, ...] = ()
    """The people to whom it was."""
    is_waiting: bool = False
    """Whether `who` has not been given a task yet."""

    def read(self) -> list[Tie]:
        for clause, after in zip_longest(self.clauses, self.clauses[1:]):
            self._read(clause, after)
        return self.ties

    def _read(self, clause: Clause, after: Clause | None) -> None:
        if clause.is_empty:
            return
        if clause.is_reason:
            self.cause = clause.tasks
            return
        if (
            self.cause
            and clause.people
            and clause.resumes
            and not (clause.tasks or self.topic or clause.is_denied)
        ):
            self._tie(self.cause, clause.people, CARRIED)
        self.cause = ()
        self.who = () if clause.turns else self.who
        self.named.update(clause.tasks)
        self.left.update(clause.left)
        if not clause.tasks and (clause.is_open or (clause.is_denied and clause.resumes)):
            self.left |= self.named
        self.leaves = clause.is_open or (self.leaves and not (clause.begins or clause.people))
        if clause.is_denied:
            topic = clause.tasks or self._take_back(clause.people)
            self.who, self.topic, self.is_denied, self.refused = (), topic, True, clause.people
        elif clause.is_left:
            self.who, self.topic = (), ()
        elif self.leaves:
            self.left.update(clause.tasks)
        elif clause.tasks:
            self._read_tasks(clause, after)
        elif clause.people or (clause.owner and self.topic):
            if self.is_denied and (clause.people or clause.owner) == self.refused:
                return
            if len(self.topic) == 1 and (clause.resumes or not self.is_denied):
                self._tie(self.topic, clause.people or clause.owner, CARRIED)
            is_unclear = self.is_waiting and self.who != clause.people and not clause.begins
            self.is_waiting = self.who != clause.people
            self.who, self.topic = () if is_unclear else clause.people, ()

    def _take_back(self, people: tuple[int, ...]) -> tuple[int, ...]:
        """The tasks that the clause before gave the people to whom this one denies them, which are given no more:
        `Ana's licence has expired, so she can't be the one`."""
        if not (people and self.ties and self.ties[-1].people == people and self.ties[-1].strength == CARRIED):
            return ()
        return self.ties.pop().targets

    def _read_tasks(self, clause: Clause, after: Clause | None) -> None:
        answered = (
            after is not None
            and not (after.begins or after.tasks or after.is_denied)
            and (after.people or after.owner)
        )
        if clause.people or clause.owner:
            self._tie(clause.tasks, clause.people or clause.owner, CLAUSE if clause.people else CARRIED)
            self.who = clause.people
        elif answered and not (self.who and self.is_waiting):
            self._tie(clause.tasks, answered, ANSWERED)
            self.who = answered
        elif self.who:
            self._tie(clause.tasks, self.who, CARRIED)
        else:
            self.topic, self.is_denied = clause.tasks, False
            return
        self.topic = ()

    def _tie(self, tasks: tuple[int, ...], people: tuple[int, ...], strength: float) -> None:
        self.is_waiting = False
        self.named.clear()
        if len(tasks) == 1 or len(people) == 1:
            self.ties.append(Tie(tasks, people, strength=strength))


def _clauses(text: str, stems: Stems) -> Iterator[Clause]:
    for opening, part in _split(text, stems):
        if _REASON.match(part):
            due = stems.tasks_in(part)
            if len(due) == 1 and not _PEOPLE.search(part):
                yield Clause(tasks=tuple(due), is_reason=True)
            continue
        owners = places_of("".join(_OWNER.findall(part)))
        actors = _OWNER.sub(" ", part) if owners else part
        people = people_in(actors)
        rows = list(_rows(actors)) if len(people) > 1 else people
        is_clear = len(people) == 1 or (len(rows) <= 1 and len(people) <= _MOST_PEOPLE)
        tasks = tuple(stems.tasks_in(part))
        is_open = stems.is_left(part) or (len(tasks) > 1 and _offers_choice(part, stems))
        yield Clause(
            people=people if is_clear else (),
            owner=owners if len(owners) == 1 and not rows else (),
            tasks=tasks if is_clear else (),
            begins=opening is not None,
            turns=opening == "turn",
            is_denied=DENIES.search(part) is not None,
            is_left=is_open or not is_clear or bool(not people and tasks and _OTHER_PERSON.search(part)),
            left=tasks if is_open else (),
            is_open=is_open,
            resumes=may_resume(part) or (opening == "turn" and not _OTHER_WORDS.search(part)),
        )


def _offers_choice(text: str, stems: Stems) -> bool:
    """Whether a text joins tasks by `or`."""
    return sum(bool(stems.tasks_in(part)) for part in _OR.split(text)) > 1


def _split(text: str, stems: Stems) -> Iterator[tuple[str | None, str]]:
    """The parts of a text between commas and conjunctions, except within rows of people, and what each begins: a
    segment, one after a turn, or neither."""
    several = len(_PEOPLE.findall(text)) > 1
    rows = [row.span() for row in _rows(text) if _is_joint(text, row, stems)] if several else []
    position = 0
    opening: str | None = "segment"
    for found in _BREAK.finditer(text):
        if any(start < found.start() and found.end() < end for start, end in rows):
            continue
        yield opening, text[position : found.start()]
        position, opening = found.end(), "turn" if found["turn"] else found["segment"] and "segment"
    yield opening, text[position:]


def _rows(text: str) -> Iterator[re.Match[str]]:
    """The people of a text in rows, each from its first person on."""
    end = 0
    for found in _PEOPLE.finditer(text):
        row = _ROW.match(text, found.start()) if found.start() >= end else None
        if row:
            end = row.end()
            yield row


def _is_joint(text: str, row: re.Match[str], stems: Stems) -> bool:
    """Whether people in a row share what their clause gives: they begin it, or a task stands on one side of them
    alone, unlike in `the tap goes to Ana and Luis cooks`."""
    before, after = _STOP.split(text[: row.start()])[-1], _STOP.split(text[row.end() :], maxsplit=1)[0]
    if _TITLES.fullmatch(before) or not stems.tasks_in(after):
        return True
    return "," not in row.group() and not stems.tasks_in(before)


def pair_in_order(ties: list[Tie]) -> list[Tie]:
    """Ties that give as many tasks to the same people, in their order: `Ana and Luis the roof and the menu,
    respectively`."""
    shared = [tie for tie in ties if len(tie.people) > 1]
    tasks = [task for tie in shared for task in tie.targets]
    if len({tie.people for tie in shared}) != 1 or len(tasks) != len(shared[0].people):
        return ties
    pairs = zip(tasks, shared[0].people, strict=True)
    return [
        *(tie for tie in ties if tie not in shared),
        *(replace(shared[0], targets=(task,), people=(who,)) for task, who in pairs),
    ]


def weaken_shared(tie: Tie) -> Tie:
    """A tie of several people to several tasks, which is what they can do together, as a weaker one."""
    is_shared = len(tie.people) > 1 and len(tie.targets) > 1
    return replace(tie, strength=min(tie.strength, CARRIED)) if is_shared else tie


def find_further(clauses: Sequence[Tie], clear: Sequence[Tie]) -> list[Tie]:
    """Clauses' ties, except those that mention a task that is clear."""
    known = {task for tie in clear for task in tie.targets}
    return [tie for tie in clauses if known.isdisjoint(tie.targets)]


def split_rows(clear: Sequence[Tie], clauses: Sequence[Tie]) -> list[Tie]:
    """Ties with the people of the only clause that holds their task."""
    given = [tie.targets for tie in clauses if tie.strength == CLAUSE]
    own = {tie.targets: tie.people for tie in clauses if tie.strength == CLAUSE and given.count(tie.targets) == 1}
    people = [own.get(tie.targets, tie.people) for tie in clear]
    return [
        replace(tie, people=some) if set(some) < set(tie.people) or set(some).isdisjoint(tie.people) else tie
        for tie, some in zip(clear, people, strict=True)
    ]
