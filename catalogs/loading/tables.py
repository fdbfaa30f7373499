"""Reads tables and JSON lines with line numbers."""

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from biasgrid.catalogs.errors import Problem, UserError, place

SEPARATORS = (",", "\t", ";")
BEFORE_HEADER = re.compile(r'(?:[\s,;]*\n)?(?:"?sep=([,;\t|])"?\s*?\n)?(?:[\s,;]*\n)?', re.IGNORECASE)
"""Lines that spreadsheets write before a header."""
LONGEST_CELL = 10_000_000
"""Maximum characters of a cell, because Python's default is too small for long replies."""


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    columns: int
    """Number of columns of the table."""
    cells: dict[str, str]
    """By lower-case header name; missing cells of short rows are left out."""

    def text(self, column: str) -> str:
        return (self.cells.get(column) or "").strip()


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `header` is in lower case, with an empty name for an unnamed index column."""

    file: str
    header: tuple[str, ...]
    separator: str
    content: str
    longest_cell: int
    before: int
    """Lines of the file before its content: blank ones, and a spreadsheet's `sep=;`."""

    @property
    def place(self) -> str:
        """`file:line` of the header."""
        return place(self.file, self.before + 1)

    def rows(self) -> Iterator[Row]:
        """Every non-blank row; raises UserError if quotes are not closed."""
        reader = csv.reader(io.StringIO(self.content, newline=""), delimiter=self.separator)
        self._next(reader)
        while True:
            line = self.before + reader.line_num + 1
            try:
                cells = self._next(reader)
            except csv.Error as error:
                remedy = "mend the quotes of this row"
                raise UserError(Problem(f"cannot be read: {error}", place(self.file, line), remedy)) from error
            if cells is None:
                return
            if any(cell.strip() for cell in cells):
                yield Row(line, len(self.header), dict(zip(self.header, cells, strict=False)))

    def _next(self, reader: Iterator[list[str]]) -> list[str] | None:
        """The next row, with the csv module's global cell limit changed only meanwhile."""
        before = csv.field_size_limit(self.longest_cell)
        try:
            return next(reader, None)
        finally:
            csv.field_size_limit(before)


def read_table(text: str, file: str, longest_cell: int = LONGEST_CELL) -> Table:
    """A table parsed from text, with the separator that its first line names, or that gives the header most
    columns."""
    hint = BEFORE_HEADER.match(text)
    before = hint[0] if hint else ""
    content = text[len(before) :]
    first = content.split("\n", 1)[0]
    headers = {separator: _header(first, separator) for separator in (hint and hint[1]) or SEPARATORS}
    separator = max(headers, key=lambda one: len(headers[one]))
    return Table(file, headers[separator], separator, content, longest_cell, before.count("\n"))


def _header(line: str, separator: str) -> tuple[str, ...]:
    try:
        return tuple(
            name.strip().lower() for name in next(csv.reader([line.strip("\r")], delimiter=separator), [])
        )
    except csv.Error:
        return ()


def numbered_lines(text: str) -> list[tuple[int, str]]:
    """Every non-blank line with its number."""
    # not splitlines: a text may contain Unicode line separators
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def parse_json(text: str) -> Any:
    """The value of a JSON text; raises UserError if it is invalid."""
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UserError(Problem(f"is not valid JSON: {error}", remedy="write one JSON object a line")) from error
