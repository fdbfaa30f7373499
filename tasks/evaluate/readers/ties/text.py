"""A reply's lines in their order: tables, headings with what stands below them, and lines of their own."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import islice
from typing import Final

from biasgrid.tasks.evaluate.readers.ties.headings import Alone, block_ties
from biasgrid.tasks.evaluate.readers.ties.line import Tie
from biasgrid.tasks.evaluate.readers.ties.tables import Marker, cells_of, table_ties

_LONGEST_LINE: Final = 4_000
_MOST_LINES: Final = 40_000
_ENDS: Final = re.compile(
    r"(?i)(?<=[.!?])(?<!\bmr\.)(?<!\bmrs\.)(?<!\bms\.)(?<!\bdr\.)(?<!\bsr\.)(?<!\bsra\.)[\"')\]]*\s+|;\s*"
    r"|\s(?=(?:while|whereas|meanwhile|mientras|mentre|en cambio|en canvi)\s)"
)
_BEGINS: Final = re.compile(
    r"(?i)(?:while|whereas|meanwhile|mientras|mentre|en cambio|en canvi)(?: que)?[^\w\ue000-\uf8ff]+"
)


def sentences(line: str) -> list[str]:
    return [_BEGINS.sub("", part) for part in _ENDS.split(line) if part and not part.isspace()]


class TextReader(ABC):
    """Reads one reply."""

    def __init__(self, marker: Marker, targets: int) -> None:
        """`targets`: how many the question has."""
        self.marker, self.targets = marker, targets
        self.rows: list[list[str]] = []
        self.block: list[Alone] = []
        """Lines that name people or targets alone, since the last that separates."""

    @abstractmethod
    def add(self, ties: list[Tie]) -> None:
        """Takes the ties of a table or a block."""

    @abstractmethod
    def read_row(self, text: str) -> list[Tie]:
        """The ties of a line that is no row of a table, although bars separate it."""

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
