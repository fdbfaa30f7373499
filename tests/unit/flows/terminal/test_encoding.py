"""Output in encodings that cannot hold all of it: plainer marks for people, escapes in data, never a traceback.
Rows below the name of their group: nothing that matters is cut off, however narrow the terminal is. Names from
files and models stay names, whichever way an artifact shows them.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from rich.console import Console

from biasgrid.flows.terminal.markdown import Markup, block, cell, image, table
from biasgrid.flows.terminal.tables import show_table
from biasgrid.tasks.report.model import Heading, Row, Table, numbers

PROGRAM = "import sys; from biasgrid.flows.cli import main; sys.argv[0] = 'biasgrid'; main()"


def _run(encoding: str, *words: str) -> Any:
    settings = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, env=settings, check=False)
    assert b"Traceback" not in done.stderr
    return done


@pytest.mark.drill
@pytest.mark.parametrize(("encoding", "marks"), [("ascii", "#."), ("cp1252", "#·"), ("utf-8", "█·")])
def test_the_picture_of_a_library_has_bars_of_other_marks(encoding, marks):
    done = _run(encoding, "catalog", "stats", "--language", "en_us", "--tolerance", "0.99")
    assert done.returncode == 0
    printed = done.stdout.decode(encoding)
    assert marks in printed
    assert "\\u" not in printed
    assert max(map(len, printed.splitlines())) <= 82  # `…` is three signs long in ASCII


@pytest.mark.parametrize("words", [("plan", "starter"), ("plan", "startr"), ("--help",)])
def test_whatever_people_read_can_be_written(words):
    done = _run("ascii", *words)
    assert done.returncode == (2 if "startr" in words else 0)
    assert done.stdout + done.stderr


def test_data_is_escaped_and_json_stays_json():
    program = (
        "import polars as pl; from biasgrid.flows.terminal.encoding import set_plain_output\n"
        "from biasgrid.flows.terminal.tables import show_rows\n"
        "set_plain_output(); show_rows(pl.DataFrame({'text': ['a … 中😀']}), 'json')"
    )
    settings = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=settings, check=True)
    assert done.stdout.strip() == rb'[{"text":"a \u2026 \u4e2d\ud83d\ude00"}]'
    assert json.loads(done.stdout) == [{"text": "a … 中😀"}]


NAME = "equal-treatment-of-genders"
GROUP = "huggingface/mistralai/Mistral-7B-Instruct-v0.3"
ROWS = [
    Row((NAME, "100.0%", "+12.5", "met → not met"), GROUP, "below"),
    Row(("性別の平等な扱い", "9.0%", "−0.1", "met"), "日本/模型"),
]


def shown(width: int) -> list[str]:
    out = io.StringIO()
    headings = (Heading("requirement"), *numbers("before", "diff"), Heading("finding", is_extra=True))
    show_table(Console(file=out, width=width), Table(headings, ROWS))
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [20, 30, 40, 80])
def test_names_are_folded_and_numbers_stay_whole(width):
    lines = shown(width)
    assert GROUP in lines
    assert any("100.0%" in line and "+12.5" in line for line in lines)
    letters = "".join(line[: max(width - 13, 12)].strip() for line in lines[2:-2] if "below" not in line)
    assert NAME in letters.replace(" ", "")


def test_a_wide_terminal_has_the_columns_of_what_else_stands_below():
    assert any("below" in line for line in shown(50))
    wide = shown(80)
    assert any(line.split() == [NAME, "100.0%", "+12.5", "met", "→", "not", "met"] for line in wide)
    assert not any("below" in line for line in wide)


def test_signs_of_two_columns_are_counted_as_two():
    first, second = (line for line in shown(80) if "%" in line)
    assert len(first[: first.index("%")]) == len(second[: second.index("%")]) + 8


def test_a_table_escapes_names_and_leaves_what_is_markdown_already():
    escaped = table(("model", "trend"), [("a|b*c*", Markup("**worse**"))])
    assert escaped.splitlines()[-1] == r"| a\|b\*c\* | **worse** |"


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("sexism_ambiguity", "sexism_ambiguity"),
        ("gpt-4o, 95%", "gpt-4o, 95%"),
        ("_all_", r"\_all\_"),
        ("[x](http://y)", r"\[x\](http://y)"),
        ("<b>", r"\<b\>"),
        ("two\nlines", "two lines"),
    ],
)
def test_a_cell_is_escaped_only_where_a_sign_would_be_a_command(name, escaped):
    assert cell(name) == escaped


def test_lines_to_be_copied_cannot_end_their_block():
    escaped = block(["echo '```'", "a\nb"]).splitlines()
    assert escaped == ["````sh", "echo '```'", "a b", "````"]


def test_a_picture_has_a_text_that_describes_it():
    assert image("<svg/>", "▁█ 0%, 100%").startswith("![▁█ 0%, 100%](data:image/svg+xml;base64,")
