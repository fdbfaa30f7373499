"""Reads a reply's lines in order: tables, headings with their blocks, and single lines."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from biasgrid.tasks.evaluate.readers.reply_text import pattern
from biasgrid.tasks.evaluate.readers.ties.line import Tie
from biasgrid.tasks.evaluate.readers.ties.tables import Marker, cells_of, table_ties

Kind = Literal["people", "targets", "no_one"]


@dataclass(frozen=True, slots=True)
class Alone:
    """A line that begins with people or with targets and has no tie itself."""

    kind: Kind
    places: tuple[int, ...]
    is_heading: bool
    """Whether it ends with a colon or begins with #."""
    number: int | None = None
    """List number, from 1 on."""
    is_open: bool = False
    is_bare: bool = False
    """Whether the line holds nothing else."""
    is_closed: bool = False
    """Whether it goes on to say something of its own, as in `Ana: on holiday`."""


def number_of(mark: str | None) -> int | None:
    """The number of the list mark `3` or `c`."""
    if not mark:
        return None
    return int(mark) if mark.isdigit() else ord(mark.lower()) - ord("a") + 1


def block_ties(block: Sequence[Alone], targets: int, one_each: bool) -> list[Tie]:
    """The ties of consecutive lines; empty if they could list all targets or all people."""
    lines = [line for line, before in zip(block, [None, *block], strict=False) if not _repeats(line, before)]
    kinds = {line.kind for line in lines}
    if "people" in kinds and "targets" not in kinds:
        return [] if one_each else list(_by_number(lines, targets))
    if not kinds >= {"people", "targets"} and len(kinds - {"no_one"}) < 2:
        return []
    own = _after_the_people(lines, one_each)
    if own[0].kind == "people" and own[0].is_closed:
        return []
    if one_each and own[0].kind == "people" and not _alternates(own):
        return []
    return list(_below(own, "people" if own[0].kind == "people" else "targets"))


def _repeats(line: Alone, before: Alone | None) -> bool:
    """Whether a line repeats the targets of the previous line."""
    return (
        before is not None and (line.kind, line.places) == ("targets", before.places) and before.kind == line.kind
    )


def _by_number(lines: Sequence[Alone], targets: int) -> Iterator[Tie]:
    """`1. Ana`, `2. Luis`: people in the order of the targets, if each line has its number."""
    if len(lines) > targets or [line.number for line in lines] != list(range(1, len(lines) + 1)):
        return
    for place, line in enumerate(lines):
        if line.kind == "people" and not line.is_heading:
            yield Tie((place,), line.places, is_open=line.is_open)


def _after_the_people(lines: Sequence[Alone], one_each: bool) -> Sequence[Alone]:
    """The block without its leading people, if each appears again below headings of targets."""
    first = next((place for place, line in enumerate(lines) if line.kind == "targets"), 0)
    listed = {place for line in lines[:first] for place in line.places}
    again = {place for line in lines[first:] if line.kind == "people" for place in line.places}
    return lines[first:] if listed <= again and (one_each or first > 1) else lines


def _alternates(lines: Sequence[Alone]) -> bool:
    """Whether people and targets alternate to the end."""
    people, targets = lines[::2], lines[1::2]
    return (
        len(people) == len(targets)
        and all(line.kind == "people" and len(line.places) == 1 for line in people)
        and all(line.kind == "targets" and not line.is_heading for line in targets)
    )


def _below(lines: Sequence[Alone], heading: Literal["people", "targets"]) -> Iterator[Tie]:
    """The lines below each heading; of consecutive headings, only the last has lines."""
    heads: Alone | None = None
    before: Alone | None = None
    for line in lines:
        if line.kind == heading:
            listed = before is not None and before.kind == heading and not line.is_heading
            heads = None if listed else line
        elif heads is not None:
            yield _tie(heads, line)
        before = line


def _tie(heads: Alone, line: Alone) -> Tie:
    if line.kind == "no_one":
        return Tie(heads.places if heads.kind == "targets" else (), ())
    if heads.kind == "targets":
        return Tie(heads.places, line.places, is_open=line.is_open)
    return Tie(line.places, heads.places, form="to targets", is_open=heads.is_open)


_LONGEST_LINE: Final = 4_000
_MOST_LINES: Final = 40_000
_ENDS: Final = re.compile(
    r"(?i)(?<=[.!?])(?<!\bmr\.)(?<!\bmrs\.)(?<!\bms\.)(?<!\bdr\.)(?<!\bsr\.)(?<!\bsra\.)(?<!\bi\.e\.)(?<!\be\.g\.)[\"')\]]*\s+|;\s*"
    rf"|\s(?={pattern('contrasts')}\s)"
)
_BEGINS: Final = re.compile(rf"(?i){pattern('contrasts')}(?: que)?[^\w\ue000-\uf8ff]+")


def sentences(line: str) -> list[str]:
    first, *rest = _ENDS.split(line)
    return [part for part in (first, *(_BEGINS.sub("", part) for part in rest)) if part and not part.isspace()]


class TextReader(ABC):
    """Reads one reply."""

    def __init__(self, marker: Marker, targets: int) -> None:
        """`targets`: number of targets in the prompt."""
        self.marker, self.targets = marker, targets
        self.rows: list[list[str]] = []
        self.block: list[Alone] = []
        """Lines that name only people or only targets, since the last separator."""

    @abstractmethod
    def add(self, ties: list[Tie]) -> None:
        """Takes the ties of a table or a block."""

    @abstractmethod
    def read_row(self, text: str) -> list[Tie]:
        """The ties of a line that has bars but is no table row."""

    @abstractmethod
    def read_line(self, line: str) -> None:
        """Reads a line that is no row of a table."""

    def read_lines(self, lines: Iterable[str]) -> None:
        for line in islice(lines, _MOST_LINES):
            self._read(line[:_LONGEST_LINE])
        self._end_table()
        self.end_block()

    def end_block(self) -> None:
        block, self.block = self.block, []
        if ties := block_ties(block, self.targets, self.marker.grammar.one_each) if block else []:
            self.add(ties)

    def _read(self, line: str) -> None:
        cells = cells_of(line)
        if cells is None:
            self._end_table()
            self.read_line(line)
        else:
            self.end_block()
            self.rows += [cells] if cells else []

    def _end_table(self) -> None:
        rows, self.rows = self.rows, []
        if ties := table_ties(rows, self.marker, self.read_row) if rows else []:
            self.add(ties)
