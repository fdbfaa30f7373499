"""Tables with a header, separated by commas, tabs or semicolons, row by row with the line each begins on."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from biasgrid.catalogs.errors import Problem, UserError, place
from biasgrid.catalogs.importers.result import NotTheFormat

SEPARATORS = (",", "\t", ";")
LONGEST_CELL = 10_000_000
"""Characters; Python's own limit is below a long reply."""


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    cells: dict[str, str]
    """By the header's names, in lower case; cells that a short row lacks are missing."""

    def text(self, column: str) -> str:
        return (self.cells.get(column) or "").strip()


@dataclass(frozen=True, slots=True)
class Table:
    """`header` in lower case; an unnamed index column is the empty name."""

    file: str
    header: tuple[str, ...]
    separator: str
    content: str

    def rows(self) -> Iterator[Row]:
        """Every row that is not blank. Raises UserError where quotes never close."""
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
    """A table by its text; the separator is the one that gives its first line most columns."""
    first = text.split("\n", 1)[0]
    headers = {separator: _header(first, separator) for separator in SEPARATORS}
    separator = max(SEPARATORS, key=lambda one: len(headers[one]))
    return Table(file, headers[separator], separator, text)


def with_columns(found: Table, columns: Sequence[str], kind: str) -> Table:
    """The table, where it has the columns. Raises NotTheFormat."""
    missing = [column for column in columns if column not in found.header]
    if missing:
        what = f"has no column `{'`, `'.join(missing)}`"
        raise NotTheFormat(Problem(what, place(found.file, 1), f"{kind} has the columns {', '.join(columns)}"))
    return found


def _next(reader: Iterator[list[str]]) -> list[str] | None:
    """The next row, with cells of any length; the limit is the module's, and others keep theirs."""
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
