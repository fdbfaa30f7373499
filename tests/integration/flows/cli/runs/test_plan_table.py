"""What `plan` shows of the grid: ordered, with whole names, and no longer than a person reads."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

Planned = Callable[..., Path]
LONG = "pay-and-promotion-are-blind-to-gender-everywhere"
LANGUAGES = ["es_es", "en_us", "ca_es"]
CELLS = [" · ".join(cell) for cell in product(("constrained", "verbose"), ("observational", "utopian"))]


@pytest.fixture
def planned(scenario_file: Any, requirement: Any) -> Planned:
    """A scenario of one requirement per name, each of all cells."""

    def write(*names: str, languages: list[str] = LANGUAGES) -> Path:
        both = ["constrained", "verbose"]
        asked = [requirement(name=name, languages=languages, inputs=both) for name in names]
        path: Path = scenario_file(["simulated/fair"], asked)
        return path

    return write


def _rows(expected: Any) -> list[str]:
    table: str = expected.out.partition("\n\n")[0]
    return table.splitlines()[1:]


def test_cells_stand_in_order_below_their_requirement_and_language(biasgrid, planned):
    rows = _rows(biasgrid("plan", planned(LONG, "a")))
    heads = [row.split()[:2] for row in rows if not row.startswith(" ")]
    assert heads == [[name, language] for name in (LONG, "a") for language in LANGUAGES]
    cells = [row.split("  ")[1] for row in rows if row.startswith(" ")]
    assert cells == CELLS * len(heads)


def test_a_requirements_line_adds_up_its_cells(biasgrid, planned):
    head, *cells = _rows(biasgrid("plan", planned("a", languages=["en_us"])))
    counts = [[int(number.replace(",", "")) for number in row.split()[-2:]] for row in (head, *cells)]
    assert counts[0] == [sum(column) for column in zip(*counts[1:], strict=True)]


def test_names_are_not_broken_where_they_fit(biasgrid, planned):
    result = biasgrid("plan", planned(LONG))
    assert f"{LONG}  en_us" in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_many_cells_are_one_line_per_requirement_and_language(biasgrid, planned):
    names = [f"r{number}" for number in range(4)]
    path = planned(*names)
    result = biasgrid("plan", path)
    assert [row.split()[:2] for row in _rows(result)] == [[name, tag] for name in names for tag in LANGUAGES]
    assert "48 cells of input and reflection: `--format json` has every one." in result.out
    assert len(json.loads(biasgrid("plan", path, "--format", "json").out)["by_cell"]) == 48
    assert "`--format json`" not in biasgrid("plan", planned(*names[:3])).out


def test_a_narrow_terminal_loses_no_column(biasgrid, planned, monkeypatch):
    path = planned(LONG, languages=["en_us"])
    wide = _rows(biasgrid("plan", path))
    monkeypatch.setenv("COLUMNS", "40")
    narrow = [row for row in _rows(biasgrid("plan", path)) if row[-1:].isdigit()]
    assert [row.split()[-2:] for row in narrow] == [row.split()[-2:] for row in wide]


def test_a_plan_shows_with_what_chance_each_requirement_is_decided(biasgrid, planned):
    path = planned("short")
    result = biasgrid("plan", path)
    _, _, shown = result.out.partition("Decided with what chance\n")
    heading, name, row = shown.splitlines()[:3]
    assert heading.split()[:4] == ["language", "measure", "templates", "needs"]
    assert name == "short"
    assert row.split()[:3] == ["es_es,", "en_us,", "ca_es"]
    assert "38" in row
    assert "can never be met; raise `templates`: short (es_es" in result.out
    content = json.loads(biasgrid("plan", path, "--format", "json").out)
    assert [power["language"] for power in content["power"]] == LANGUAGES
    assert all(power["missing"] > 0 and power["met_at_98"] == 0 for power in content["power"])


def test_a_run_that_its_gate_can_never_pass_is_refused_and_sends_nothing(biasgrid, planned, tmp_path):
    data = tmp_path / "deep" / "data"
    result = biasgrid("run", planned("short"), "--gate", "decided", "--data", data)
    assert result.is_a_mistake("1 error", "--gate decided", "can never be met", "`templates`", "`--yes`")
    assert not data.parent.exists()
