"""Writes exported files atomically, and safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.warehouse.storage.atomic_file import replace_atomically

_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
"""Start of a cell that a spreadsheet would run as a formula (OWASP, CSV injection)."""
_TEXTS = pl.selectors.string() | pl.selectors.categorical() | pl.selectors.enum()


def write_table(path: Path, rows: pl.DataFrame) -> Path:
    """Writes `rows` as comma-separated UTF-8, with a quote before cells that a spreadsheet would run."""
    return write_text(path, as_csv(rows))


def as_csv(rows: pl.DataFrame) -> str:
    """`rows` as CSV text with a header: nested values as JSON, formulas escaped by a quote, also in column
    names."""
    return csv_header(rows.columns) + csv_rows(rows)


def csv_header(columns: Sequence[str]) -> str:
    """The header line."""
    header = io.StringIO()
    names = defuse_formulas(pl.DataFrame({"name": columns}, schema={"name": pl.String}))["name"]
    csv.writer(header, lineterminator="\n").writerow(names)
    return header.getvalue()


def csv_rows(rows: pl.DataFrame) -> str:
    """The lines below the header, as in `as_csv`."""
    return defuse_formulas(flatten_nested(rows)).write_csv(include_header=False)


def write_text(path: Path, text: str, option: str = "--out") -> Path:
    """Writes `text` atomically. Raises `UserError` if it cannot be written; `option` is the CLI option of the
    path."""
    return write_bytes(path, text.encode(), option)


def write_bytes(path: Path, content: bytes, option: str = "--out") -> Path:
    """Like `write_text`, for bytes."""
    with report_write_errors(path, f"`{path}`", option), replace_atomically(path) as partial:
        partial.write_bytes(content)
    return path


@contextmanager
def report_write_errors(out: Path, what: str = "the report", option: str = "--out") -> Iterator[None]:
    """Raises `UserError` if `what` cannot be written to `out`, the value of `option`."""
    try:
        yield
    except OSError as error:
        message = f"{what} cannot be written: {error.strerror or error}"
        remedy = "name a place that you may write to"
        raise UserError(Problem(message, f"{option} {out}", remedy)) from error


def defuse_formulas(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with a quote before text cells that begin like a formula; numbers stay numbers."""
    return rows.with_columns(_TEXTS.cast(pl.String).str.replace(_FORMULA, "'${0}"))


def flatten_nested(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with nested values as JSON text, since CSV has no nested values."""
    nested = [column for column in rows.iter_columns() if column.dtype.is_nested()]
    return rows.with_columns(
        pl.Series(column.name, [_as_json(value) for value in column.to_list()], dtype=pl.String)
        for column in nested
    )


def _as_json(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, default=str)


def as_number(value: object) -> float:
    """What JSON holds of a decimal; raises TypeError for anything else that it has no form for."""
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"`{type(value).__name__}` has no place in JSON")
