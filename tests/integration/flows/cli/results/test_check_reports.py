"""`report --format junit|markdown|model-card|pictures|json` and `show`, of every kind of run."""

import html
import json
from importlib import resources
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from biasgrid.flows.benchmark.trend_chart import pictures_page
from biasgrid.tasks.report.answer import answer
from biasgrid.tasks.report.checks import checks
from biasgrid.tasks.report.formats.data_files import as_text
from biasgrid.tasks.report.verdicts import word_of
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import find_run

pytestmark = pytest.mark.drill

SCHEMA = resources.files("biasgrid.tasks.report") / "report.schema.json"


@pytest.fixture(params=["finished", "probed", "attacked"])
def assessed(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def test_the_schema_of_json_reports_is_fresh():
    fresh = as_text()
    assert SCHEMA.read_text(encoding="utf-8") == fresh, "run `make schemas`"


def test_every_json_report_is_as_its_schema_states(biasgrid, assessed, tmp_path):
    result = biasgrid("report", "--format", "json", "--out", tmp_path, "--data", assessed.data)
    report = json.loads(Path(result.out.strip()).read_text(encoding="utf-8"))
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert [error.message for error in Draft202012Validator(schema).iter_errors(report)] == []
    for name, rows in report.items():
        if isinstance(rows, list) and rows:
            assert rows[0].keys() == schema["properties"][name]["items"]["properties"].keys()


def test_ci_fails_on_what_a_run_would_exit_with(biasgrid, finished, tmp_path):
    result = biasgrid("report", "--format", "junit", "--out", tmp_path, "--data", finished.data)
    root = ElementTree.parse(result.out.strip()).getroot()
    sql = "select count(*) from (select distinct requirement, model, language from marts.pass_rates"
    unmet = query(Lake(finished.data), f"{sql} where point_finding = 'not met')").item()
    assert unmet > 0
    assert root.attrib["failures"] == str(unmet)
    assert {suite.attrib["name"] for suite in root} == {"simulated/fair", "simulated/constant-no"}


def test_the_gate_decides_what_fails(biasgrid, finished, tmp_path):
    words = ("report", "--format", "markdown", "--data", finished.data, "--out")
    point, decided = (
        Path(biasgrid(*words, tmp_path / gate, "--gate", gate).out.strip()).read_text(encoding="utf-8")
        for gate in ("point", "decided")
    )
    assert point.splitlines()[0] == decided.splitlines()[0]  # the verdict is the same, the exit code is not
    assert "goes by the point rate: 1 meets, 1 fails." in point
    assert "goes by the 95% interval: 1 fails, 1 not proven." in decided


@pytest.mark.parametrize("format", ["junit", "markdown", "model-card", "every-eval-ever"])
def test_every_kind_of_run_has_every_format(
    biasgrid,
    assessed,
    tmp_path,
    format,  # noqa: A002
):
    result = biasgrid("report", assessed.run_id, "--format", format, "--out", tmp_path, "--data", assessed.data)
    assert result.code == 0, result
    assert [Path(line) for line in result.out.splitlines()] != []
    assert all(Path(line).stat().st_size > 0 for line in result.out.splitlines())


@pytest.mark.parametrize("kind", ["probed", "talked", "attacked"])
def test_what_is_not_shown_and_has_no_bound_never_passes(biasgrid, request, kind, tmp_path):
    assessed = request.getfixturevalue(kind)
    result = biasgrid("report", assessed.run_id, "--format", "junit", "--out", tmp_path, "--data", assessed.data)
    cases = [*ElementTree.parse(result.out.strip()).getroot().iter("testcase")]
    lake = Lake(assessed.data)
    states = {check.state("point") for check in checks(lake, find_run(lake, assessed.run_id))}
    assert "undecided" in states
    assert "met" not in states
    assert all(case.find("failure") is not None or case.find("skipped") is not None for case in cases)
    assert any("not proven" in found.attrib["message"] for case in cases for found in case.findall("skipped"))


@pytest.mark.drill
def test_pictures_of_a_run_are_files(biasgrid, finished, tmp_path):
    result = biasgrid("report", "--format", "pictures", "--out", tmp_path, "--data", finished.data)
    names = {Path(line).name for line in result.out.splitlines()}
    assert names >= {"pictures.md", "measures.svg", "measures.png", "grid.svg", "leaderboard.svg"}
    page = (tmp_path / "pictures.md").read_text(encoding="utf-8")
    assert page.count("![") == len([name for name in names if name.endswith(".svg")])


def test_a_run_is_shown_again_with_every_finding_named(biasgrid, assessed):
    result = biasgrid("show", assessed.run_id, "--all", "--data", assessed.data)
    assert result.code == 0
    assert "\x1b[" not in result.out
    lake = Lake(assessed.data)
    for check in checks(lake, find_run(lake, assessed.run_id)):
        assert check.name.split(" · ")[0] in result.out
        assert check.model in result.out
        assert word_of(check.finding) in result.out


def test_the_first_screen_answers_in_25_lines_with_a_line_for_each_model(biasgrid, assessed):
    result = biasgrid("show", assessed.run_id, "--data", assessed.data)
    lines = result.out.splitlines()
    assert (result.code, "\x1b[" in result.out, len(lines) <= 25) == (0, False, True)
    assert max(len(line) for line in lines if "--data" not in line) <= 80
    found = answer(Lake(assessed.data), assessed.run_id)
    assert " ".join(found.sentences()[0].split()[:6]) in result.out
    for one in found.models:
        assert any(one.model in line and one.verdict in line for line in lines)
    assert any(line.startswith(f"Next  biasgrid show {found.short} --all") for line in lines)


def test_every_surface_has_the_same_first_sentence(biasgrid, finished, tmp_path):
    first = answer(Lake(finished.data), finished.run_id).first
    words = ("report", finished.run_id, "--data", finished.data, "--out", tmp_path, "--format")
    for name in ("junit", "markdown"):
        text = Path(biasgrid(*words, name).out.strip()).read_text(encoding="utf-8")
        assert first in html.unescape(text)
    assert first in biasgrid("show", finished.run_id, "--data", finished.data).out


def test_what_is_shown_of_a_benchmark_fits_into_80_columns(biasgrid, finished):
    result = biasgrid("show", "--all", "--data", finished.data).out.splitlines()
    assert max(len(line) for line in result if str(finished.data) not in line) <= 80


def test_bars_state_without_colour_what_is_met(biasgrid, finished):
    result = biasgrid("show", "--all", "--data", finished.data).out.splitlines()
    (bar,) = [line for line in result if line.startswith("sexism ")]
    assert "✗" in bar
    assert "?" in bar  # 22 prompts are too few to prove that a fair model meets it
    assert "|" in bar
    assert "%" in bar


@pytest.mark.drill
def test_the_artifact_holds_the_pictures_that_are_written_as_files(finished):
    page = pictures_page(Lake(finished.data), finished.run_id)
    assert page.count("](data:image/svg+xml;base64,") == page.count("\n## ") >= 3


def test_what_is_lost_is_counted_in_whole_numbers(assessed):
    lake = Lake(assessed.data)
    result = [count for check in checks(lake, find_run(lake, None)) for count in check.lost.values()]
    assert {type(count) for count in result} == {int}
