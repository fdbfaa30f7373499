"""Reads tables with a header, separated by commas, tabs or semicolons, with each row's first line number."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from biasgrid.catalogs.errors import Problem, UserError, place
from biasgrid.catalogs.importers.result import NotTheFormat

SEPARATORS = (",", "\t", ";")
LONGEST_CELL = 10_000_000
"""Maximum characters of a cell, because Python's default is too small for long replies."""


@dataclass(frozen=True, slots=True)
class Row:
    line: int
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

    def rows(self) -> Iterator[Row]:
        """Every non-blank row; raises UserError if quotes are not closed."""
        reader = csv.reader(io.StringIO(self.content, newline=""), delimiter=self.separator)
        _next(reader)
        while True:
            line = reader.line_num + 1
            try:
                cells = _next(reader)
            except csv.Error as error:
                remedy = "mend the quotes of this row"
                raise UserError(Problem(f"cannot be read: {error}", place(self.file, line), remedy)) from error
            if cells is None:
                return
            if any(cell.strip() for cell in cells):
                yield Row(line, dict(zip(self.header, cells, strict=False)))


def table(text: str, file: str) -> Table:
    """A table parsed from text, with the separator that gives the first line most columns."""
    first = text.split("\n", 1)[0]
    headers = {separator: _header(first, separator) for separator in SEPARATORS}
    separator = max(SEPARATORS, key=lambda one: len(headers[one]))
    return Table(file, headers[separator], separator, text)


def with_columns(found: Table, columns: Sequence[str], kind: str) -> Table:
    """The table if it has the columns; raises NotTheFormat otherwise."""
    missing = [column for column in columns if column not in found.header]
    if missing:
        what = f"has no column `{'`, `'.join(missing)}`"
        raise NotTheFormat(Problem(what, place(found.file, 1), f"{kind} has the columns {', '.join(columns)}"))
    return found


def _next(reader: Iterator[list[str]]) -> list[str] | None:
    """The next row, with the csv module's global cell limit raised only meanwhile."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(before)


def _header(line: str, separator: str) -> tuple[str, ...]:
    try:
        return tuple(
            name.strip().lower() for name in next(csv.reader([line.strip("\r")], delimiter=separator), [])
        )
    except csv.Error:
        return ()
