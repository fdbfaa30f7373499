"""Writes a sample as a sheet, and reads it back from spreadsheets with all errors at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from biasgrid.catalogs.errors import Problem, place
from biasgrid.tasks.review.record import Answer
from biasgrid.tasks.review.sample import Draw
from biasgrid.tasks.review.spreadsheet import Form, as_cells, rows_of
from biasgrid.tasks.review.units import OUTCOMES, Shown

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
