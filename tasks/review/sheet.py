"""Writes a sample as a sheet, and reads it back from spreadsheets with all errors at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, place
from biasgrid.catalogs.loading.tables import Table, read_table
from biasgrid.catalogs.loading.text_files import read_table_text
from biasgrid.catalogs.text_safety import CONTROL
from biasgrid.tasks.review.record import Answer
from biasgrid.tasks.review.sample import Draw
from biasgrid.tasks.review.units import OUTCOMES, Shown

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


COLUMNS: Final = ("item", "id", "prompt", "reply", "rule", "verdict", "reason", "sample")
FORM: Final = Form(COLUMNS, ("id", "verdict"), "--export", "--import")
_WORDS: Final = {word: outcome for outcome in OUTCOMES for word in (outcome, outcome[0])} | {
    "pass": "passed",
    "unbiased": "passed",
    "fail": "failed",
    "biased": "failed",
    "refusal": "refused",
    "unclear": "unreadable",
}
_NO_VERDICT: Final = ("", "s", "skip", "skipped", "-", "–")


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a sheet with a verdict; `number` is its line in the file."""

    number: int
    unit_id: str
    answer: Answer
    draw: Draw | None


def sheet(sample: pl.DataFrame, texts: Mapping[str, Shown], draw: Draw) -> pl.DataFrame:
    """A blind sheet of a drawn sample, without model names and verdicts."""
    rows = [
        (number, unit_id, texts[unit_id].prompt, texts[unit_id].reply, texts[unit_id].rule)
        for number, unit_id in enumerate(sample["unit_id"], 1)
    ]
    frame = pl.DataFrame(rows, schema=["item", "id", "prompt", "reply", "rule"], orient="row")
    filled = frame.with_columns(as_cells("prompt", "reply", "rule")).with_columns(
        verdict=pl.lit(""), reason=pl.lit(""), sample=pl.lit(draw.as_token())
    )
    return filled.select(COLUMNS)


def read_sheet(path: Path) -> tuple[list[Line], list[Problem]]:
    """The rows with a verdict, in the file's order, and an error for each unreadable one; raises UserError if
    the file is no sheet."""
    lines: list[Line] = []
    mistakes: list[Problem] = []
    for number, row in rows_of(path, FORM):
        _read(row, place(path, number), number, lines, mistakes)
    return lines, [*mistakes, *_contradictions(lines, path)]


def _read(row: Mapping[str, str], where: str, number: int, lines: list[Line], mistakes: list[Problem]) -> None:
    unit_id, verdict = row.get("id", "").strip().lower(), row.get("verdict", "").strip().lower()
    if verdict in _NO_VERDICT:
        return
    if not unit_id:
        remedy = "put back the id that the sheet was written with"
        mistakes.append(Problem("a row has a verdict and no `id`", where, remedy))
    elif verdict not in _WORDS:
        remedy = f"write one of {', '.join(OUTCOMES)}, or leave it empty"
        mistakes.append(Problem(f"verdict `{verdict[:40]}` is unknown", where, remedy))
    else:
        reason = " ".join(row.get("reason", "").split())
        answer = Answer(_WORDS[verdict], reason or None)
        lines.append(Line(number, unit_id, answer, Draw.of_token(row.get("sample", "").strip())))


def _contradictions(lines: Sequence[Line], path: Path) -> Iterator[Problem]:
    first: dict[str, Line] = {}
    for line in lines:
        before = first.setdefault(line.unit_id, line)
        if before.answer.outcome != line.answer.outcome:
            earlier = f"{before.answer.outcome} in line {before.number}"
            what = f"`{line.unit_id}` is {line.answer.outcome} here and {earlier}"
            yield Problem(what, place(path, line.number), "keep one of the two rows")
