"""The commands that look: version, help, plan, runs, sql and report. What `plan` shows of the grid: ordered, with
whole names, and no longer than a person reads.
"""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer.main

from biasgrid.flows.cli import app

HEAVY = {"prefect", "polars", "duckdb", "pyarrow", "obstore", "openai", "huggingface_hub", "replicate", "pydantic"}


def test_the_version_is_reported_without_importing_anything_heavy():
    program = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules))))\n"
        "sys.argv = ['biasgrid', '--version']\n"
        "from biasgrid.flows.cli import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    version, modules = done.stdout.splitlines()
    assert version == "biasgrid 0.1.0"
    assert HEAVY.isdisjoint(json.loads(modules))


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


ALL = list(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_explains_itself_within_80_columns(biasgrid, path):
    result = biasgrid(*path, "--help")
    assert (result.code, result.err) == (0, "")
    assert "Usage: biasgrid" in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_the_commands_are_those_that_were_promised():
    assert {(name,) for name in ("run", "plan", "resume", "report", "runs", "sql", "doctor")} <= set(ALL)
    assert {("catalog", "check"), ("respondent", "serve"), ("warehouse", "build")} <= set(ALL)


@pytest.fixture
def asked(scenario_file: Any, requirement: Any) -> Path:
    both = [requirement(), requirement(name="ages", concern="ageism", communities="age")]
    path: Path = scenario_file(["openai/gpt-4o-mini", "simulated/fair"], both, samples=2)
    return path


@pytest.fixture
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "BIASGRID_OPENAI_API_KEY", "PREFECT_API_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_no_key")
def test_a_plan_in_json_adds_up_and_needs_no_key(biasgrid, asked):
    result = biasgrid("plan", asked, "--format", "json")
    assert (result.code, result.err) == (0, "")
    plan = json.loads(result.out)
    assert {"instances", "requests", "by_concern", "by_model", "tokens", "cost_usd", "seconds"} <= set(plan)
    assert set(plan["by_concern"]) == {"sexism", "ageism"}
    assert plan["instances"] == sum(plan["by_concern"].values()) == sum(c["instances"] for c in plan["by_cell"])
    assert plan["by_model"] == dict.fromkeys(("openai/gpt-4o-mini", "simulated/fair"), 2 * plan["instances"])
    assert plan["requests"] == sum(plan["by_model"].values())
    assert {(c["input"], c["reflection"], c["templates"]) for c in plan["by_cell"]} == {
        ("constrained", "observational", 2),
        ("constrained", "utopian", 2),
    }
    assert plan["cost_by_model"]["simulated/fair"] == 0
    assert plan["cost_usd"] == plan["cost_by_model"]["openai/gpt-4o-mini"] > 0
    assert plan["tokens"] > 2 * plan["requests"]
    assert plan["seconds"] > 0
    assert sorted(asked.parent.iterdir()) == [asked]


@pytest.mark.usefixtures("_no_key")
def test_a_plan_as_a_table_reports_the_same(biasgrid, asked):
    plan = json.loads(biasgrid("plan", asked, "--format", "json").out)
    result = biasgrid("plan", asked)
    assert result.code == 0
    assert f"in all: {plan['instances']:,} instances, {plan['requests']:,} requests" in " ".join(
        result.out.split()
    )
    assert "Nothing was sent." in result.out


@pytest.mark.usefixtures("_no_key")
def test_options_stand_in_for_the_scenarios_settings(biasgrid, asked):
    once = json.loads(biasgrid("plan", asked, "--samples", "1", "--format", "json").out)
    twice = json.loads(biasgrid("plan", asked, "--format", "json").out)
    assert 2 * once["requests"] == twice["requests"]
    other = json.loads(biasgrid("plan", asked, "--model", "simulated/biased", "--format", "json").out)
    assert list(other["by_model"]) == ["simulated/biased"]


def test_runs_are_listed_newest_first(biasgrid, finished):
    result = biasgrid("runs", "--data", finished.data)
    header, row = result.out.splitlines()[:2]
    assert header.split() == ["run", "scenario", "models", "state", "result", "age"]
    short, *rest = row.split()
    assert (finished.run_id.startswith(short), len(short)) == (True, 8)
    assert rest[1:4] == ["2", "models", "completed"]
    assert "1 fails" in result.out
    assert biasgrid("show", short, "--data", finished.data).code == 0


def test_no_runs_are_reported_so(biasgrid, tmp_path):
    assert "no run yet" in biasgrid("runs", "--data", tmp_path).out


COUNT = "select model, count(*) as cases from staging.stg_cases group by model order by model"


def test_sql_answers_as_json_csv_and_table(biasgrid, finished):
    each = finished.cases // 2
    expected = [{"model": f"simulated/{name}", "cases": each} for name in ("constant-no", "fair")]
    assert json.loads(biasgrid("sql", COUNT, "--format", "json", "--data", finished.data).out) == expected
    rows = csv.DictReader(io.StringIO(biasgrid("sql", COUNT, "--format", "csv", "--data", finished.data).out))
    assert [{**row, "cases": int(row["cases"])} for row in rows] == expected
    lines = biasgrid("sql", COUNT, "--data", finished.data).out.splitlines()
    assert [line.split() for line in lines] == [
        ["model", "cases"],
        ["simulated/constant-no", str(each)],
        ["simulated/fair", str(each)],
        ["(2", "rows)"],
    ]


def test_a_wide_mart_is_readable_within_80_columns(biasgrid, finished):
    result = biasgrid("sql", "from marts.pass_rates", "--data", finished.data)
    assert result.code == 0
    assert "tolerance_evaluation" in result.out
    assert max(map(len, result.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("langbite", {"responses.csv", "evaluations.csv", "global_evaluation.csv"}),
        ("csv", {"requirement_findings.csv", "pass_rates.csv"}),
        ("json", set()),
    ],
)
def test_a_report_names_the_files_that_it_wrote(biasgrid, finished, tmp_path, kind, files):
    result = biasgrid("report", "--format", kind, "--out", tmp_path / "out", "--data", finished.data)
    assert (result.code, result.err) == (0, "")
    written = [Path(line) for line in result.out.splitlines()]
    assert written
    assert all(path.stat().st_size > 0 for path in written)
    assert sorted(written) == sorted((tmp_path / "out").iterdir())
    assert {name for name in files if not any(path.name.endswith(name) for path in written)} == set()


def test_a_json_report_holds_the_findings(biasgrid, finished, tmp_path):
    result = biasgrid(
        "report", finished.run_id[-8:], "--format", "json", "--out", tmp_path, "--data", finished.data
    )
    text = Path(result.out.strip()).read_text(encoding="utf-8")
    assert json.loads(text)
    assert finished.run_id in text
    assert "genders-alike" in text


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
