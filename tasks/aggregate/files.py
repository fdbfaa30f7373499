"""Report files: whole or not there, and safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import polars as pl

from catalogs.mistakes import Mistake, UserMistake
from warehouse.atomic import replacing

_FORMULA = r"^[=+\-@\t\r]"
"""How a cell begins that a spreadsheet would run instead of showing it (OWASP, CSV injection)."""


def write_table(path: Path, rows: pl.DataFrame) -> Path:
    """Writes `rows` as comma-separated UTF-8, the cells that a spreadsheet would run defused by a quote."""
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(rows.columns)
    return write_text(path, header.getvalue() + defused(rows).write_csv(include_header=False))


def write_text(path: Path, text: str) -> Path:
    """Writes `text` in one step. Raises `UserMistake` where it cannot be written."""
    try:
        with replacing(path) as partial:
            partial.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        what = f"the report cannot be written: {error.strerror or error}"
        remedy = "name a directory that you may write to"
        raise UserMistake(Mistake(what, f"--out {path.parent}", remedy)) from error
    return path


def defused(rows: pl.DataFrame) -> pl.DataFrame:
    """Text cells that begin like a formula, with a quote before them; numbers stay numbers."""
    return rows.with_columns(pl.selectors.string().str.replace(_FORMULA, "'${0}"))
