"""Writes cells for spreadsheets, and reads rows as spreadsheets save them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.tables import Table, read_table
from biasgrid.catalogs.loading.text_files import read_table_text
from biasgrid.catalogs.text_safety import CONTROL

LONGEST_CELL: Final = 32_000
"""Maximum characters of a cell; spreadsheets truncate longer ones."""


@dataclass(frozen=True, slots=True)
class Form:
    """Columns of a kind of sheet, and the commands or options that write and read it."""

    columns: tuple[str, ...]
    needed: tuple[str, ...]
    written_by: str
    given_as: str


def as_cells(*columns: str) -> pl.Expr:
    """Texts as cells: uniform line breaks, no control characters, limited length."""
    words = pl.col(*columns).str.replace_all("\r\n?", "\n").str.replace_all(f"[{CONTROL}]", "\ufffd")
    return words.str.slice(0, LONGEST_CELL)


def rows_of(path: Path, form: Form) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row that is not empty, by its line in the file: cells by the header's names, in lower case. Raises
    UserError where the file is no sheet of the form.

    Comma, semicolon or tab, UTF-8 with or without a mark, UTF-16 or a Western code page; columns and rows in any
    order, other columns and empty lines in any number.
    """
    try:
        table = read_table(read_table_text(path), str(path))
    except UserError as error:
        remedy = f"name a sheet that `{form.written_by}` wrote, saved as CSV (UTF-8)"
        problems = (replace(one, what=f"`{one.where}` {one.what}", where=form.given_as) for one in error.mistakes)
        raise UserError(replace(one, remedy=remedy) for one in problems) from error
    _check_header(table, form)
    for row in table.rows():
        yield row.line, row.cells


def _check_header(table: Table, form: Form) -> None:
    missing = [f"`{name}`" for name in form.needed if name not in table.header]
    twice = [f"`{name}`" for name in form.needed if table.header.count(name) > 1]
    if missing:
        remedy = f"the first line must name the columns that `{form.written_by}` writes: {', '.join(form.columns)}"
        raise UserError(Problem(f"the sheet has no column {' and '.join(missing)}", table.place, remedy))
    if twice:
        what = f"the sheet has column {' and '.join(twice)} more than once"
        raise UserError(Problem(what, table.place, "keep one of each"))
