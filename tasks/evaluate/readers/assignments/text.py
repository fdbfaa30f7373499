"""Assignments in text: lists line by line, headings over people or over tasks, tables, and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from biasgrid.tasks.evaluate.readers.assignments.blocks import Alone, of_block
from biasgrid.tasks.evaluate.readers.assignments.lines import Item, is_own, row_items, sentence_items, speaker
from biasgrid.tasks.evaluate.readers.assignments.marks import Marking
from biasgrid.tasks.evaluate.readers.assignments.steps import Heading, Kind, Step
from biasgrid.tasks.evaluate.readers.assignments.tables import read_rows
from biasgrid.tasks.evaluate.readers.assignments.words import (
    ECHO,
    LABEL,
    LEAD,
    NOBODY,
    OTHERS_SPEAK,
    OWN,
    PEOPLE,
    PERSON,
    PLACE,
    REASONS,
    TASK,
    TASKS,
    TURNS,
)
from biasgrid.tasks.evaluate.readers.pairings.sentences import sentences
from biasgrid.tasks.evaluate.readers.pairings.tables import cells_of

_LONGEST_LINE: Final = 4_000
_MOST_LINES: Final = 4_000
_HEADING: Final = 14
"""Words of a heading at most."""
_BEGINS: Final = re.compile(
    rf"(?i){LEAD}{LABEL}(?:(?P<who>{PEOPLE})(?!\s*'s)|(?P<tasks>{TASKS})|(?P<nobody>{NOBODY}))"
)
_ONLY_NAMED: Final = re.compile(
    r"(?i)\s*(?:$|[-,.:;(\[=→]|because|since|as\b|for\b|porque|ya que|para\b|(?P<verb>(?:will|should|takes?|gets"
    r"|handles)\b|is (?:assigned|responsible|in charge)|se encarga|deberia|sera\b))"
)
"""What follows a person of whom nothing else is told than that they are meant."""
_ENUMERATED: Final = re.compile(
    r"(?i)(?<=\S)(?<!task)(?<!tarea)\s+(?=\(?\d{1,2}[.)]\s+\S)|(?<=[;,.])\s+(?=\d{1,2}(?::|\s?[-→=])\s?[^\W\d])"
)
_FROM_ONE: Final = re.compile(
    r"(?i)(?:^|(?<!task)(?<!tarea)\s)\(?1[.)]\s|(?:^|[:;,.]\s)\s*1(?::|\s?[-→=])\s?[^\W\d]"
)
_ASSIGNS: Final = re.compile("[Aa]ssign|[Aa]signaci|[Rr]epart")
_INLINE: Final = re.compile(
    r"(?i)(?<=[.;!?)])\s+(?=(?:(?:my|the|our|here is my|mi|la|el|este es mi)\s+)?"
    r"(?:new|revised|final|updated|corrected|fairer|nuev[oa]|revisad[oa]|definitiv[oa]|corregid[oa]"
    r"|equilibrad[oa])"
    r"\s[^.:\n]{0,40}:)"
)


@dataclass(slots=True)
class Reader:
    """Reads the lines of one reply, in their order."""

    marking: Marking
    people: int
    steps: list[Step] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    block: list[Alone] = field(default_factory=list)
    spoken: list[tuple[int, str]] = field(default_factory=list)
    """Lines that no list was found in, after how many steps each stands."""
    is_others: bool = False
    """Whether another person of the scene is being quoted."""

    def read(self, text: str) -> list[Step]:
        for line in islice(_lines(text), _MOST_LINES):
            self._line(line[:_LONGEST_LINE])
        self._end_table()
        self._end_block()
        if self._is_missing():
            self._sentences()
        return self.steps

    def _line(self, line: str) -> None:
        cells = cells_of(line)
        if cells is not None:
            self._end_block()
            self.rows += [cells] if cells else []
            return
        self._end_table()
        if not ECHO.match(line) and not REASONS.match(line):
            self._told(line)

    def _told(self, line: str) -> None:
        marked = self._own(self._after_title(self.marking.marked(line)))
        if not marked.strip():
            return
        items = self._items(marked)
        is_row = any(one.is_set_apart for one in items) or (bool(items) and _is_listed(marked))
        if is_row and not self._is_below_somebody(items):
            self._hear()
            self._end_block()
            self._add("list", items)
        elif not self._alone(marked, line):
            self._listen(marked)
            self.spoken += [] if self.is_others else [(len(self.steps), marked)]

    def _hear(self) -> None:
        """Above a list of tasks and people, the name of somebody alone tells who says it."""
        above = self.block[-1] if self.block else None
        if above and self.marking.me and above.is_heading and above.kind == "people" and len(above.places) == 1:
            self.is_others = above.places[0] != ord(self.marking.me) & PLACE

    def _listen(self, marked: str) -> None:
        if OTHERS_SPEAK.search(marked):
            self.is_others = not (self.marking.me and self.marking.me in marked)
        elif OWN.match(marked) or (self.marking.me and marked.startswith(self.marking.me)):
            self.is_others = False

    def _add(self, kind: Kind, items: list[Item]) -> None:
        if not self.is_others:
            self.steps.append(Step(kind, tuple(items)))

    def _after_title(self, line: str) -> str:
        """What follows a heading that tells of an assignment; the heading itself is a step."""
        heading = Heading.of(line)
        if heading is None:
            return line
        self._end_block()
        self.is_others = False
        self.steps.append(heading.step)
        return heading.rest

    def _own(self, marked: str) -> str:
        """A line without the name of who says it, where what follows hands out tasks."""
        label = speaker(marked)
        rest = marked[label.end() :] if label else ""
        if label is None or not any(
            one.form == "to people" and one.is_clear for one in row_items(rest, self.people)
        ):
            return marked
        if len(row_items(marked, self.people)) > len(row_items(rest, self.people)):
            return marked
        self.is_others = self.marking.me is not None and label[1] != self.marking.me
        return rest

    def _items(self, marked: str) -> list[Item]:
        """The items of a list's line, with tasks in other words where it names none as they are."""
        items = row_items(marked, self.people)
        if items and (items[0].form == "to people" or not re.search(r"[,;&]| and | y ", marked[items[-1].end :])):
            return items
        if not re.search(PERSON, marked) and not re.match(r"(?i)[^:]{3,80}:\s*[A-Z]", marked):
            return items
        return row_items(self.marking.with_labels(marked), self.people) or items

    def _is_below_somebody(self, items: list[Item]) -> bool:
        """Whether a task stands below the person who has it, and others are only told of beside it."""
        heads = bool(self.block) and self.block[0].kind == "people"
        return heads and items[0].form == "to people" and not items[0].is_clear

    def _alone(self, marked: str, line: str) -> bool:
        """A line that names people or tasks alone, which the lines around it may tie together."""
        found = _BEGINS.match(marked)
        if found is None and len(marked.split()) <= _HEADING and not re.search(PERSON, marked):
            marked = self.marking.with_labels(marked)
            found = _BEGINS.match(marked)
        is_heading = line.rstrip().endswith(":") or bool(re.match(r"\s*#+\s", line))
        if found is None:
            if is_heading:
                self._end_block()
            return False
        rest = marked[found.end() :]
        if self._tells_more(found, rest):
            return False
        alone = Alone.of(found, rest, is_heading, _is_listed(marked))
        if self.block and (alone.number or 99) <= (self.block[-1].number or 0) and alone.kind == "people":
            self._end_block()
        self.block.append(alone)
        return True

    def _tells_more(self, found: re.Match[str], rest: str) -> bool:
        """Whether a line that begins with people or tasks is a sentence about them."""
        if found["who"]:
            named = _ONLY_NAMED.match(rest)
            told = self.marking.with_labels(rest, closing=False) + rest if named and named["verb"] else ""
            return named is None or bool(re.search(TASK, rest) or re.search(f"{TASK}|{PERSON}", told))
        is_below = bool(self.block) and self.block[0].kind == "people"
        return bool(re.search(PERSON, rest)) and not is_below

    def _end_table(self) -> None:
        rows, self.rows = self.rows, []
        if rows:
            self._add("list", read_rows(rows, self.marking, self.people))

    def _end_block(self) -> None:
        block, self.block = self.block, []
        items = of_block(block, len(self.marking.stems.of_task), self.people)
        if items:
            self._add("list", items)

    def _is_missing(self) -> bool:
        told = {task for step in self.steps for item in step.items for task in item.tasks}
        return len(told) < len(self.marking.stems.of_task) or any(TURNS.search(line) for _, line in self.spoken)

    def _sentences(self) -> None:
        """Adds what sentences say, each at its place among the steps."""
        added = 0
        for place, line in self.spoken:
            for sentence in sentences(line):
                items = self._of_sentence(sentence)
                if items:
                    self.steps.insert(place + added, Step("said", tuple(items), bool(TURNS.search(sentence))))
                    added += 1

    def _of_sentence(self, sentence: str) -> list[Item]:
        """What a sentence says, with tasks in other words where that is more."""
        if not re.search(PERSON, sentence) or not is_own(sentence):
            return []
        items = sentence_items(sentence, self.people)
        labelled = self.marking.with_labels(sentence, closing=False)
        more = sentence_items(labelled, self.people) if labelled != sentence else []
        return more if _tasks_in(more) > _tasks_in(items) else items


def _tasks_in(items: list[Item]) -> int:
    return sum(len(item.tasks) for item in items)


def _lines(text: str) -> Iterator[str]:
    """The lines of a text; a list or a heading within one begins another."""
    for line in (_INLINE.sub("\n", text) if _ASSIGNS.search(text) else text).split("\n"):
        yield from _ENUMERATED.split(line) if _FROM_ONE.search(line) else (line,)


def _is_listed(marked: str) -> bool:
    """Whether a line begins as that of a list does."""
    return bool(re.match(r"\s*(?:[-*+>#]|\(?\d{1,2}[.)\]]|\[)", marked))
