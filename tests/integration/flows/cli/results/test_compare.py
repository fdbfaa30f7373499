"""`biasgrid compare`: two runs, or two evaluations of one, as a person reads and a program takes them."""

import asyncio
import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.scenario.scenario import resolve
from biasgrid.tasks.evaluate.cell import Evaluation, evaluate_cells
from biasgrid.tasks.evaluate.current_oracles import rules
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import find_run

pytestmark = pytest.mark.drill

Command = Callable[..., Any]
SECOND = "01ZZZZZZZZZZZZZZZZZZZZZZZZ"
HOSTILE = '=cmd()|<b>[x](y)`\x1b[31m"\n,'
TABLES = ("runs", "cells", "cases", "responses", "criteria", "verdicts")


@dataclass(frozen=True)
class Compared:
    data: Path
    run_id: str
    other: str = ""
    template: str = ""
    """The one whose oracle has changed."""


@pytest.fixture(scope="module")
def judged_twice(finished: Any, tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """A run that was judged again, by a library in which one template expects something else."""
    lake = copy_of(finished, tmp_path_factory.mktemp("twice"))
    template = str(lake.read("cases").filter(pl.col("operation") == "allEqualExpected")["template"].sort()[0])
    asyncio.run(_judge_again(lake, finished.run_id, template))
    build(lake)
    return Compared(lake.root, finished.run_id, template=template)


def copy_of(finished: Any, folder: Path) -> Lake:
    shutil.copytree(finished.data, folder, dirs_exist_ok=True)
    return Lake(folder)


async def _judge_again(lake: Lake, run_id: str, template: str) -> None:
    catalog = resolve(find_run(lake, run_id).scenario_resolved).catalog
    wrong = (
        pl.col("rule").str.json_path_match("$.operation").replace_strict({"allEqualExpected": NEVER}, default="")
    )
    changed = rules(catalog).with_columns(
        pl.when(pl.col("template") == template).then(wrong).otherwise("rule").alias("rule")
    )
    for cell_id in lake.read("cells", run_id)["cell_id"].unique():
        await evaluate_cells(lake, run_id, [cell_id], Evaluation(SECOND, catalog, rules=changed))
    hashes = json.dumps({**catalog.hashes, **dict.fromkeys((*READ, UNREAD), "5e")})
    criteria = lake.read("criteria", run_id).with_columns(
        evaluation_id=pl.lit(SECOND), tolerance=pl.lit(0.95), catalog_hashes=pl.lit(hashes)
    )
    lake.write("criteria", run_id, SECOND, criteria)


READ, UNREAD = ("catalogs/concerns/ageism.yaml", "mine.yaml"), "catalogs/attacks/en_us.yaml"
"""Files that have changed; benchmarks do not read the last one."""
NEVER = '{"operation": "allEqualExpected", "expected": ["Perhaps"]}'


@pytest.fixture(scope="module")
def two_runs(finished: Any, tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """The run, and another one whose requirement bears a name that no program should act upon."""
    lake = copy_of(finished, tmp_path_factory.mktemp("two"))
    for table in TABLES:
        rows = lake.read(table, finished.run_id).with_columns(run_id=pl.lit(SECOND))
        named = {"requirement": pl.lit(HOSTILE)} if "requirement" in rows.columns else {}
        lake.write(table, SECOND, "all", rows.with_columns(**named))
    build(lake)
    return Compared(lake.root, finished.run_id, SECOND)


@pytest.fixture
def compare(biasgrid: Command) -> Command:
    return lambda found, *words: biasgrid("compare", *words, "--data", found.data)


def test_files_that_runs_of_the_kind_do_not_read_come_last(compare, judged_twice):
    run = judged_twice.run_id
    out = compare(judged_twice, f"{run}@{run}", run, "--format", "markdown").out
    assert re.findall(r"catalog (\S+yaml)", out.replace("\\", "")) == [*READ, UNREAD]


def test_an_oracle_that_was_changed_shows_in_the_verdicts_that_moved_and_in_no_others(compare, judged_twice):
    run = judged_twice.run_id
    report = json.loads(compare(judged_twice, f"{run}@{run}", run, "--format", "json").out)
    assert (report["earlier"]["evaluation_id"], report["later"]["evaluation_id"]) == (run, SECOND)
    assert {row["template"] for row in report["changed_replies"]} == {judged_twice.template}
    assert {(row["earlier_outcome"], row["later_outcome"]) for row in report["changed_replies"]} == {
        ("passed", "failed")
    }
    replies = len(report["changed_replies"])
    assert sum(row["moved"] for row in report["moves"] if row["unit"] == "reply") == replies
    assert [(row["template"], row["replies"]) for row in report["oracles"]] == [(judged_twice.template, replies)]
    assert {(row["name"], row["later"]) for row in report["circumstances"]} >= {
        ("mine.yaml", "5e"),
        ("genders-alike: tolerance", "0.95"),
    }
    assert not [name for row in report["requirements"] for name in row if name in ("p_value", "change")]


def test_what_moved_can_be_followed_with_trace(compare, biasgrid, judged_twice):
    run = judged_twice.run_id
    asked = ("--format", "csv", "--table", "changed_replies")
    rows = list(csv.DictReader(io.StringIO(compare(judged_twice, f"{run}@{run}", run, *asked).out)))
    result = biasgrid("trace", rows[0]["case_id"], "--data", judged_twice.data)
    assert "verdict failed" in result.out
    assert "verdict, replaced: passed" in result.out


def test_the_terminal_reports_it_in_80_columns(compare, judged_twice):
    run = judged_twice.run_id
    result = compare(judged_twice, f"{run}@{run}", f"{run}@{SECOND[-8:]}")
    assert (result.code, result.err) == (0, "")
    for part in ("Findings", "meets → fails", "What moved", "Oracles that judge otherwise", "tolerance"):
        assert part in result.out
    assert max(map(len, result.out.partition("Findings\n")[2].splitlines())) <= 80


def test_two_runs_are_compared_with_what_each_alone_has(compare, two_runs):
    result = compare(two_runs, two_runs.run_id, two_runs.other)
    assert result.code == 0
    assert "0 worse, 0 better, 0 no difference shown, 4 not compared" in result.out
    assert "only in the earlier" in result.out
    assert "\x1b" not in result.out


def test_names_of_files_are_no_commands_in_markdown_and_csv(compare, two_runs):
    words = (two_runs.run_id, two_runs.other)
    page = compare(two_runs, *words, "--format", "markdown").out
    assert r"=cmd()\|\<b\>\[x\](y)\`\\x1b\[31m" in page
    bars = re.compile(r"(?<!\\)\|")
    for section in page.split("\n## ")[1:]:
        table = [line for line in section.splitlines() if line.startswith("|")]
        assert len({len(bars.findall(line)) for line in table}) == 1
    rows = list(csv.DictReader(io.StringIO(compare(two_runs, *words, "--format", "csv").out)))
    assert {row["requirement"] for row in rows} == {"genders-alike", f"'{HOSTILE}"}


def test_models_of_other_names_are_compared_by_name(compare, judged_twice):
    lake = Lake(judged_twice.data)
    for table in TABLES:
        rows = lake.read(table, judged_twice.run_id)
        if "evaluation_id" in rows.columns:
            rows = rows.filter(pl.col("evaluation_id") == judged_twice.run_id)
        lake.write(table, "RENAMED", "all", rows.with_columns(run_id=pl.lit("RENAMED")))
    pair = "simulated/constant-no=simulated/fair"
    words = (f"{judged_twice.run_id}@{judged_twice.run_id}", "RENAMED", "--as", pair)
    report = json.loads(compare(judged_twice, *words, "--format", "json").out)
    assert report["models"] == {"simulated/constant-no": "simulated/fair"}
    (row,) = report["requirements"]
    assert row["model"] == "simulated/fair"
    assert (row["earlier_point_finding"], row["later_point_finding"]) == ("not met", "met")
    assert row["only_later"] > row["only_earlier"] == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("NONE", "{run}"), ("run `NONE` is unknown",)),
        (("@E1", "{run}"), ("`@E1` names no run",)),
        (("{run}@NONE", "{run}"), ("evaluation `NONE` is unknown", "{run}", SECOND)),
        (("{run}@", "{run}"), ("evaluation `` is unknown",)),
        (("{run}", "{run}"), ("both are run `{run}`", SECOND)),
        (("{run}@{run}", "{run}", "--as", "a=b"), ("two evaluations of one run", "--as")),
        (("{run}@{run}", "{run}", "--table", "moves"), ("--format csv",)),
        (("{run}@{run}", "{run}", "--table", "move", "--format", "csv"), ("`move`", "`moves`")),
        (("{run}@{run}", "{run}", "--format", "html"), ("newest verdicts", "--format html", "`markdown`")),
        (("{run}@{run}", "{run}", "--format", "json", "--open"), ("a page is opened", "--format json")),
        (("{run}@{run}", "{run}", "--out", "x"), ("--out", "`--format html`")),
    ],
)
def test_mistakes_state_what_there_is(compare, judged_twice, words, expected):
    named = [word.format(run=judged_twice.run_id) for word in words]
    result = compare(judged_twice, *named)
    assert result.is_a_mistake(*(part.format(run=judged_twice.run_id) for part in expected))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (["nonsense"], ("`nonsense` names no two models",)),
        (["simulated/fairy=simulated/none"], ("`simulated/fairy`", "`simulated/none`", "did you mean")),
        (["simulated/fair=simulated/fair"] * 2, ("named twice",)),
    ],
)
def test_pairs_of_models_that_there_are_not_are_mistakes(compare, two_runs, pairs, expected):
    named = [word for pair in pairs for word in ("--as", pair)]
    assert compare(two_runs, two_runs.run_id, two_runs.other, *named).is_a_mistake(*expected)


def test_a_run_that_was_never_judged_states_how_to_go_on(compare, finished, tmp_path):
    lake = copy_of(finished, tmp_path)
    row = lake.read("runs", finished.run_id).head(1).with_columns(run_id=pl.lit("UNJUDGED"))
    lake.write("runs", "UNJUDGED", "1", row)
    found = Compared(lake.root, finished.run_id)
    assert compare(found, "UNJUDGED", finished.run_id).is_a_mistake("never judged", "biasgrid resume")


def test_two_models_of_one_run_are_compared_prompt_by_prompt(biasgrid, finished, tmp_path):
    words = ("compare", finished.run_id[:8], "--models", "fair", "simulated/constant-no", "--data", finished.data)
    shown = biasgrid(*words)
    assert (shown.code, shown.err) == (0, "")
    assert "first    simulated/fair" in shown.out
    (row,) = json.loads(biasgrid(*words, "--format", "json").out)["requirements"]
    rates = dict(query(Lake(finished.data), "select model, rate from marts.requirement_findings").iter_rows())
    assert (row["earlier_rate"], row["later_rate"]) == pytest.approx(
        (rates["simulated/fair"], rates["simulated/constant-no"])
    )
    assert row["difference"] == pytest.approx(row["later_rate"] - row["earlier_rate"])
    assert (row["difference"] < 0, row["change"]) == (True, "no difference shown")  # 11 templates show none
    assert biasgrid(*words, "--format", "markdown").out.startswith("# simulated/fair → simulated/constant-no\n")
    assert f"Next  biasgrid compare {finished.run_id} --models simulated/fair" in shown.out
    page = tmp_path / "page"
    assert biasgrid(*words, "--format", "html", "--out", page).out == f"{page / 'index.html'}\n"
    assert {path.name for path in (page / "data").iterdir()} >= {"compare.js", "tests-0.js"}


def test_without_ids_the_newest_run_is_compared(biasgrid, compare, finished, two_runs):
    models = ("--models", "fair", "constant-no", "--format", "json", "--data", finished.data)
    assert biasgrid("compare", *models).out == biasgrid("compare", finished.run_id, *models).out
    assert biasgrid("compare", "--data", finished.data).is_a_mistake("the only one of its kind", "--models A B")
    found = json.loads(compare(two_runs, "--format", "json").out)
    assert [found[side]["run_id"] for side in ("earlier", "later")] == sorted([two_runs.run_id, two_runs.other])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--models", "fare", "constant-no"), "did you mean `simulated/fair`"),
        (("--models", "fair", "simulated/fair"), "is named twice"),
        (("RUN", "--models", "fair", "constant-no"), "name one run with `--models`"),
        ((), "name a second run, or two models of this one"),
    ],
)
def test_what_is_compared_is_named_once(biasgrid, finished, words, message):
    words = [finished.run_id if word == "RUN" else word for word in words]
    assert biasgrid("compare", finished.run_id, *words, "--data", finished.data).is_a_mistake(message)
