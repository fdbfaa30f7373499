"""Writes cells for spreadsheets, and reads rows as spreadsheets save them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, place
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
    rows = _rows(_text(path, form), path)
    header = _header(next(rows, (1, []))[1], path, form)
    for number, cells in rows:
        yield number, dict(zip(header, cells, strict=False))


def _header(cells: Sequence[str], path: Path, form: Form) -> list[str]:
    header = [cell.strip().lower() for cell in cells]
    missing = [f"`{name}`" for name in form.needed if name not in header]
    twice = [f"`{name}`" for name in form.needed if header.count(name) > 1]
    if missing:
        remedy = f"the first line must name the columns that `{form.written_by}` writes: {', '.join(form.columns)}"
        raise UserError(Problem(f"the sheet has no column {' and '.join(missing)}", place(path, 1), remedy))
    if twice:
        what = f"the sheet has column {' and '.join(twice)} more than once"
        raise UserError(Problem(what, place(path, 1), "keep one of each"))
    return header


def _rows(text: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row, the header first."""
    hint = re.match(r"sep=(.)\r?\n", text, re.IGNORECASE)
    body = text[hint.end() :] if hint else text
    delimiter = hint[1] if hint else _delimiter(body)
    lines = csv.reader(io.StringIO(body, newline=""), delimiter=delimiter)
    limit = csv.field_size_limit(2**31 - 1)
    start, skipped = 1, 1 if hint else 0
    try:
        for cells in lines:
            if any(cell.strip() for cell in cells):
                yield start + skipped, cells
            start = lines.line_num + 1
    except csv.Error as error:
        where = place(path, lines.line_num + skipped)
        raise UserError(Problem(f"the sheet is no CSV: {error}", where, "save it as CSV (UTF-8)")) from error
    finally:
        csv.field_size_limit(limit)  # the module's: others keep theirs


def _delimiter(text: str) -> str:
    """The delimiter that splits the first line into the most cells."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max((",", ";", "\t"), key=first.count)


def _text(path: Path, form: Form) -> str:
    try:
        given = path.read_bytes()
    except OSError as error:
        what = f"`{path}` cannot be read: {error.strerror or error}"
        raise UserError(Problem(what, form.given_as, f"name a sheet that `{form.written_by}` wrote")) from error
    for encoding in ("utf-16",) if given[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252"):
        try:
            return given.decode(encoding).replace("\x00", "")
        except UnicodeDecodeError:
            continue
    raise UserError(Problem(f"`{path}` is no text", form.given_as, "save the sheet as CSV (UTF-8)"))
