"""A sample as a sheet, and the sheet read back as spreadsheets save it, every mistake at once."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from catalogs.mistakes import Mistake, UserMistake, place
from tasks.review.draw import Draw
from tasks.review.record import Answer
from tasks.review.units import OUTCOMES, Shown

COLUMNS: Final = ("item", "id", "prompt", "reply", "rule", "verdict", "reason", "sample")
NEEDED: Final = ("id", "verdict")
LONGEST_CELL: Final = 32_000
"""Characters; a spreadsheet cuts a cell off soon after."""
_CONTROL: Final = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_WORDS: Final = {word: outcome for outcome in OUTCOMES for word in (outcome, outcome[0])} | {
    "pass": "passed",
    "unbiased": "passed",
    "fail": "failed",
    "biased": "failed",
    "refusal": "refused",
    "unclear": "unreadable",
}
_NOTHING_SAID: Final = ("", "s", "skip", "skipped", "-", "–")


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a sheet that has a verdict. `number` is its line in the file."""

    number: int
    unit_id: str
    answer: Answer
    draw: Draw | None


def sheet(sample: pl.DataFrame, texts: Mapping[str, Shown], draw: Draw) -> pl.DataFrame:
    """A blind sheet of a `drawn` sample: no model's name, and nobody's verdict."""
    rows = [
        (number, unit_id, texts[unit_id].prompt, texts[unit_id].reply, texts[unit_id].rule)
        for number, unit_id in enumerate(sample["unit_id"], 1)
    ]
    frame = pl.DataFrame(rows, schema=["item", "id", "prompt", "reply", "rule"], orient="row")
    words = pl.col("prompt", "reply", "rule").str.replace_all("\r\n?", "\n").str.replace_all(_CONTROL, "\ufffd")
    filled = frame.with_columns(words.str.slice(0, LONGEST_CELL)).with_columns(
        verdict=pl.lit(""), reason=pl.lit(""), sample=pl.lit(draw.as_token())
    )
    return filled.select(COLUMNS)


def read_sheet(path: Path) -> tuple[list[Line], list[Mistake]]:
    """The rows with a verdict, in the file's order, and a mistake for each that cannot be read. Raises UserMistake
    where the file is no sheet at all.

    Comma, semicolon or tab, UTF-8 with or without a mark, UTF-16 or a Western code page; columns and rows in any
    order, columns beside ours and empty lines in any number.
    """
    rows = _rows(_text(path), path)
    header = _header(next(rows, (1, ()))[1], path)
    lines: list[Line] = []
    mistakes: list[Mistake] = []
    for number, cells in rows:
        if any(cell.strip() for cell in cells):
            _read(dict(zip(header, cells, strict=False)), place(path, number), number, lines, mistakes)
    return lines, [*mistakes, *_contradictions(lines, path)]


def _read(row: Mapping[str, str], where: str, number: int, lines: list[Line], mistakes: list[Mistake]) -> None:
    unit_id, said = row.get("id", "").strip().lower(), row.get("verdict", "").strip().lower()
    if said in _NOTHING_SAID:
        return
    if not unit_id:
        remedy = "put back the id that the sheet was written with"
        mistakes.append(Mistake("a row has a verdict and no `id`", where, remedy))
    elif said not in _WORDS:
        remedy = f"write one of {', '.join(OUTCOMES)}, or leave it empty"
        mistakes.append(Mistake(f"verdict `{said[:40]}` is unknown", where, remedy))
    else:
        reason = " ".join(row.get("reason", "").split())
        answer = Answer(_WORDS[said], reason or None)
        lines.append(Line(number, unit_id, answer, Draw.of_token(row.get("sample", "").strip())))


def _contradictions(lines: Sequence[Line], path: Path) -> Iterator[Mistake]:
    first: dict[str, Line] = {}
    for line in lines:
        before = first.setdefault(line.unit_id, line)
        if before.answer.outcome != line.answer.outcome:
            earlier = f"{before.answer.outcome} in line {before.number}"
            what = f"`{line.unit_id}` is {line.answer.outcome} here and {earlier}"
            yield Mistake(what, place(path, line.number), "keep one of the two rows")


def _header(cells: Sequence[str], path: Path) -> list[str]:
    header = [cell.strip().lower() for cell in cells]
    missing = [f"`{name}`" for name in NEEDED if name not in header]
    twice = [f"`{name}`" for name in NEEDED if header.count(name) > 1]
    if missing:
        remedy = f"the first line must name the columns that `--export` writes: {', '.join(COLUMNS)}"
        raise UserMistake(Mistake(f"the sheet has no column {' and '.join(missing)}", place(path, 1), remedy))
    if twice:
        what = f"the sheet has column {' and '.join(twice)} more than once"
        raise UserMistake(Mistake(what, place(path, 1), "keep one of each"))
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
        raise UserMistake(Mistake(f"the sheet is no CSV: {error}", where, "save it as CSV (UTF-8)")) from error
    finally:
        csv.field_size_limit(limit)  # the module's: others keep theirs


def _delimiter(text: str) -> str:
    """The one by which the first line falls into the most cells."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max((",", ";", "\t"), key=first.count)


def _text(path: Path) -> str:
    try:
        given = path.read_bytes()
    except OSError as error:
        what = f"`{path}` cannot be read: {error.strerror or error}"
        raise UserMistake(Mistake(what, "--import", "name a sheet that `--export` wrote")) from error
    for encoding in ("utf-16",) if given[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252"):
        try:
            return given.decode(encoding).replace("\x00", "")
        except UnicodeDecodeError:
            continue
    raise UserMistake(Mistake(f"`{path}` is no text", "--import", "save the sheet as CSV (UTF-8)"))
