"""Files that are handed out: whole or not there, and safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.warehouse.storage.atomic_file import replace_atomically

_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
"""How a cell begins that a spreadsheet would run instead of showing it (OWASP, CSV injection)."""
_TEXTS = pl.selectors.string() | pl.selectors.categorical() | pl.selectors.enum()


def write_table(path: Path, rows: pl.DataFrame) -> Path:
    """Writes `rows` as comma-separated UTF-8, the cells that a spreadsheet would run defused by a quote."""
    return write_text(path, as_csv(rows))


def as_csv(rows: pl.DataFrame) -> str:
    """`rows` as comma-separated text under a header: nested values as JSON, text that a spreadsheet would run
    with a quote before it, column names too."""
    return csv_header(rows.columns) + csv_rows(rows)


def csv_header(columns: Sequence[str]) -> str:
    """The line of column names."""
    header = io.StringIO()
    names = defuse_formulas(pl.DataFrame({"name": columns}, schema={"name": pl.String}))["name"]
    csv.writer(header, lineterminator="\n").writerow(names)
    return header.getvalue()


def csv_rows(rows: pl.DataFrame) -> str:
    """The lines below the header, as `as_csv` has them."""
    return defuse_formulas(flatten_nested(rows)).write_csv(include_header=False)


def write_text(path: Path, text: str, option: str = "--out") -> Path:
    """Writes `text` in one step. Raises `UserError` where it cannot be written; `option` named the place."""
    return write_bytes(path, text.encode(), option)


def write_bytes(path: Path, content: bytes, option: str = "--out") -> Path:
    """As `write_text`."""
    with report_write_errors(path, f"`{path}`", option), replace_atomically(path) as partial:
        partial.write_bytes(content)
    return path


@contextmanager
def report_write_errors(out: Path, what: str = "the report", option: str = "--out") -> Iterator[None]:
    """Raises `UserError` where `what` cannot be written to `out`, which `option` named."""
    try:
        yield
    except OSError as error:
        message = f"{what} cannot be written: {error.strerror or error}"
        remedy = "name a place that you may write to"
        raise UserError(Problem(message, f"{option} {out}", remedy)) from error


def defuse_formulas(rows: pl.DataFrame) -> pl.DataFrame:
    """Text cells that begin like a formula, with a quote before them; numbers stay numbers."""
    return rows.with_columns(_TEXTS.cast(pl.String).str.replace(_FORMULA, "'${0}"))


def flatten_nested(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with nested values as JSON text, which is how CSV can hold them."""
    nested = [column for column in rows.iter_columns() if column.dtype.is_nested()]
    return rows.with_columns(
        pl.Series(column.name, [_as_json(value) for value in column.to_list()], dtype=pl.String)
        for column in nested
    )


def _as_json(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, default=str)
