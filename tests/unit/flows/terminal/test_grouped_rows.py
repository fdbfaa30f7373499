"""Rows below the name of their group: nothing that matters is cut off, however narrow the terminal is."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from biasgrid.flows.terminal.tables import show_table
from biasgrid.tasks.report.model import Heading, Row, Table, numbers

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
def test_names_are_folded_and_numbers_stay_whole(width: int) -> None:
    lines = shown(width)
    assert GROUP in lines
    assert any("100.0%" in line and "+12.5" in line for line in lines)
    letters = "".join(line[: max(width - 13, 12)].strip() for line in lines[2:-2] if "below" not in line)
    assert NAME in letters.replace(" ", "")


def test_a_wide_terminal_has_the_columns_of_what_else_stands_below() -> None:
    assert any("below" in line for line in shown(50))
    wide = shown(80)
    assert any(line.split() == [NAME, "100.0%", "+12.5", "met", "→", "not", "met"] for line in wide)
    assert not any("below" in line for line in wide)


def test_signs_of_two_columns_are_counted_as_two() -> None:
    first, second = (line for line in shown(80) if "%" in line)
    assert len(first[: first.index("%")]) == len(second[: second.index("%")]) + 8
