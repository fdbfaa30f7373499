"""Reads ties in tables: a row or column per target or per person, or ticked cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from biasgrid.tasks.evaluate.readers.reply_text import pattern
from biasgrid.tasks.evaluate.readers.ties.line import Form, Tie
from biasgrid.tasks.evaluate.readers.ties.units import Grammar

_RULE: Final = re.compile(r"^[\s|:+=-]*$")
_TICKS: Final = re.compile(rf"(?i)^\W*(?:✓|✔|✅|☑|●|{pattern('ticked')})\W*$|^\W*[✓✔✅☑●]\W*$")
_CROSS: Final = re.compile(r"(?i)^\W*x\W*$")
_REFUTED: Final = re.compile(r"[✗✘❌☐✖]")
_SCORE: Final = re.compile(r"\W*\d{1,3}(?:[.,]\d+)?\s*(?:%|/\s*\d{1,3})?\W*")
_FEWEST_SCORED: Final = 2
_OF_PEOPLE: Final = re.compile(rf"(?i)\W*{pattern('header_of_people')}\w*\W*$")
"""The header of a column of people."""
_OF_NEW: Final = re.compile(rf"(?i)\W*{pattern('header_of_new')}\W*$")
"""The header of the column of people that a reply proposes, next to those who had the tasks before."""


@dataclass(frozen=True, slots=True)
class Cell:
    """People and targets that a cell, or a key or value of JSON, names."""

    targets: tuple[int, ...] = ()
    people: tuple[int, ...] = ()
    strangers: tuple[str, ...] = ()
    is_no_one: bool = False
    is_open: bool = False
    by_number: bool = False
    """Whether it is only a target's number."""


class Marker(Protocol):
    """Finds people and targets in a reply."""

    @property
    def grammar(self) -> Grammar: ...

    def mark(self, line: str) -> str:
        """A line with a private character in place of each person and target."""

    def cell(self, text: str) -> Cell:
        """People and targets that a cell names at its start; reasons are ignored."""


def cells_of(line: str) -> list[str] | None:
    """The cells of a row between bars or tabs, empty for a rule; None if the line is no row."""
    if "|" not in line and "\t" not in line.strip():
        return None
    if _RULE.match(line):
        return []
    mark = "|" if "|" in line else "\t"
    row = line.strip().removeprefix(mark).removesuffix(mark)
    return [cell.strip() for cell in row.split(mark)]


def table_ties(rows: Sequence[Sequence[str]], marker: Marker, read_row: Callable[[str], list[Tie]]) -> list[Tie]:
    """The ties of `rows` without rules; the first may be a header. `read_row` reads lines that are no table
    rows."""
    header: list[Cell] = []
    ties: list[Tie] = []
    people: int | None = None
    for row in rows if not any(map(_is_scored, rows)) else ():
        cells = [marker.cell(text) for text in row]
        if _is_header(cells) and not _fits(cells, header):
            header = cells
        elif people is None and not ties and not header and _column(row) is not None:
            people = _column(row)
        else:
            ties += _of_row(row, _Row(cells, header, people, marker.grammar.one_each)) or read_row(
                " - ".join(text for text in row if text)
            )
    return ties


def _is_scored(row: Sequence[str]) -> bool:
    """Whether all cells of a row but the first hold numbers, as where people are rated."""
    return len(row) > _FEWEST_SCORED and all(map(_SCORE.fullmatch, row[1:]))


@dataclass(frozen=True, slots=True)
class _Row:
    cells: Sequence[Cell]
    header: Sequence[Cell]
    column: int | None
    """Column of people, if a header names one."""
    one_each: bool

    @property
    def targets(self) -> tuple[int, ...]:
        """Targets of the first cell that names them by text, else by number."""
        named = [cell.targets for cell in self.cells if cell.targets]
        by_text = [cell.targets for cell in self.cells if cell.targets and not cell.by_number]
        return () if self.one_each and len(set(named)) > 1 else next(iter(by_text or named), ())

    @property
    def people(self) -> Cell | None:
        """The cell of people: in their column, else the first that holds any."""
        if self.column is not None and self.column < len(self.cells) and not self.one_each:
            own = self.cells[self.column]
            return own if own.people or own.strangers or own.is_no_one else None
        found = [cell for cell in self.cells if cell.people]
        return found[0] if found and not (self.one_each and len(found) > 1) else None


def _column(row: Sequence[str]) -> int | None:
    return next(
        (place for header in (_OF_NEW, _OF_PEOPLE) for place, text in enumerate(row) if header.match(text)), None
    )


def _is_header(cells: Sequence[Cell]) -> bool:
    targets = {cell.targets for cell in cells if cell.targets and not cell.by_number}
    people = {cell.people for cell in cells if cell.people}
    return (len(targets) > 1 and not people) or (len(people) > 1 and not targets)


def _fits(cells: Sequence[Cell], header: Sequence[Cell]) -> bool:
    """Whether people are below targets, or targets below people."""
    return bool(_people_of(header) if any(cell.targets for cell in cells) else _targets_of(header))


def _of_row(row: Sequence[str], read: _Row) -> list[Tie]:
    above, over = _people_of(read.header), _targets_of(read.header)
    targets, people = read.targets, read.people
    if targets and people is not None and not above:
        return [_tie(targets, people, "to people")]
    alone = sum(bool(cell.targets) for cell in read.cells if not cell.by_number) == 1
    if targets and above and alone and (placed := _find_ticked(row, above)):
        return [_tie(targets, read.header[place], "to people") for place in placed]
    held = [place for place in over if place < len(read.cells)]
    held = [
        place for place in held if read.cells[place].people or (read.cells[place].strangers and not read.one_each)
    ]
    if held:
        return [_tie(read.header[place].targets, read.cells[place], "to people") for place in held]
    return list(_under_people(row, read))


def _under_people(row: Sequence[str], read: _Row) -> Iterator[Tie]:
    """The targets below each person, or those ticked in a person's row."""
    for place in _people_of(read.header):
        if place < len(read.cells) and read.cells[place].targets:
            yield _tie(read.cells[place].targets, read.header[place], "to targets")
    for place in _find_ticked(row, _targets_of(read.header)) if read.people else ():
        yield _tie(read.header[place].targets, read.people or Cell(), "to targets")


def _find_ticked(row: Sequence[str], among: Iterable[int]) -> list[int]:
    """The places of cells that are ticked, or crossed if none is ticked."""
    under = [place for place in among if place < len(row) and not _REFUTED.search(row[place])]
    return [place for place in under if _TICKS.match(row[place])] or [
        place for place in under if _CROSS.match(row[place])
    ]


def _people_of(cells: Sequence[Cell]) -> list[int]:
    return [place for place, cell in enumerate(cells) if cell.people]


def _targets_of(cells: Sequence[Cell]) -> list[int]:
    return [place for place, cell in enumerate(cells) if cell.targets]


def _tie(targets: tuple[int, ...], who: Cell, form: Form) -> Tie:
    return Tie(targets, who.people, who.strangers, form, is_open=who.is_open)
