"""A sheet is blind and harmless, and is read back as spreadsheets save it, with every mistake at once."""

import csv
import io
from pathlib import Path

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.tasks.review.record import Answer
from biasgrid.tasks.review.sample import Draw, draw_sample
from biasgrid.tasks.review.sheet import COLUMNS, read_sheet, sheet
from biasgrid.tasks.review.units import Shown

HEADER = ["id", "verdict", "reason", "sample"]
ROWS = [
    ["r1", "passed", "it says so; plainly", Draw(7, 3).as_token()],
    ["r2", "F", "", Draw(7, 3).as_token()],
    ["r3", "", "", Draw(7, 3).as_token()],
]
GIVEN = {"r1": Answer("passed", "it says so; plainly"), "r2": Answer("failed")}


def written(
    path: Path, rows: list[list[str]], header: list[str] = HEADER, delimiter: str = ",", encoding: str = "utf-8"
) -> Path:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows([header, *rows])
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def answers(path: Path) -> dict[str, Answer]:
    lines, mistakes = read_sheet(path)
    assert mistakes == []
    return {line.unit_id: line.answer for line in lines}


def test_a_sheet_shows_prompt_reply_and_rule_and_no_verdict(units):
    draw = Draw(7, 4)
    sample = draw_sample(units({("openai/gpt-4o", "failed"): 4}), draw)
    texts = {unit: Shown("Are they?", "=cmd|' /C calc'!A0\r\x1b[2J", "One of: No") for unit in sample["unit_id"]}
    rows = sheet(sample, texts, draw)
    assert tuple(rows.columns) == COLUMNS
    assert rows["verdict"].to_list() == [""] * 4
    assert rows["reply"][0] == "=cmd|' /C calc'!A0\n\ufffd[2J"
    without_ids = rows.drop("id", "sample").write_csv()
    assert "gpt-4o" not in without_ids
    assert "failed" not in without_ids


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_sheet_is_read_however_a_spreadsheet_saved_it(tmp_path, delimiter, encoding):
    assert answers(written(tmp_path / "s.csv", ROWS, HEADER, delimiter, encoding)) == GIVEN


def test_columns_and_rows_may_be_moved_and_others_added(tmp_path):
    header = ["Note", "Verdict ", "ID", "reason"]
    rows = [["mine", row[1], f" {row[0].upper()} ", row[2]] for row in reversed(ROWS)]
    blank = ["", "", "", ""]
    assert answers(written(tmp_path / "s.csv", [blank, rows[0], blank, *rows[1:], blank], header)) == GIVEN


def test_a_line_that_names_the_separator_is_no_row(tmp_path):
    path = written(tmp_path / "s.csv", ROWS, HEADER, ";")
    path.write_text(f"sep=;\n{path.read_text()}")
    assert answers(path) == GIVEN


def test_all_mistakes_are_reported_with_their_lines(tmp_path):
    rows = [
        ["r1", "perhaps", "two\nlines", ""],
        ["", "passed", "", ""],
        ["r2", "passed", "", ""],
        ["r2", "failed", "", ""],
    ]
    _, mistakes = read_sheet(written(tmp_path / "s.csv", rows))
    reported = [(mistake.where.rpartition(":")[2], mistake.what) for mistake in mistakes]
    assert reported == [
        ("2", "verdict `perhaps` is unknown"),
        ("4", "a row has a verdict and no `id`"),
        ("6", "`r2` is failed here and passed in line 5"),
    ]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (b"", "no column `id` and `verdict`"),
        (b"id,reason\nr1,x\n", "no column `verdict`"),
        (b"id,verdict,verdict\nr1,p,f\n", "more than once"),
        (b"PK\x03\x04\x81\x8d", "is no text"),
    ],
)
def test_what_is_no_sheet_is_one_mistake(tmp_path, given, problem):
    path = tmp_path / "s.csv"
    path.write_bytes(given)
    with pytest.raises(UserError, match=problem):
        read_sheet(path)


def test_a_sheet_that_is_not_there_is_a_mistake(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read_sheet(tmp_path / "none.csv")
