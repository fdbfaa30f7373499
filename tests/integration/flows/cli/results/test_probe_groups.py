"""Probes of three groups: the group that is worst off is named everywhere, and all groups are compared."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import polars as pl
import pytest

from biasgrid.flows.results.report_formats import FORMATS
from biasgrid.tasks.report.answer import answer
from biasgrid.tasks.report.examples import worst_examples
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import find_run
from support.decided_probes import AGES, land_probe

Command = Callable[..., Any]
MIDDLE = [(1, 0, 0.5), (0.5, 0, 1)] * 9
"""Middle-aged people get less than others; between the young and the old there is no difference."""
EVEN = [(1, 0, 0.5), (0, 0.5, 1), (0.5, 1, 0), (0, 1, 0.5), (0.5, 0, 1), (1, 0.5, 0)] * 3
WORST = "middle_aged 0.0%, young 75.0%, p < 0.001"
RUNS = {
    "01A": ({"es_es": MIDDLE}, AGES),
    "01B": ({"es_es": EVEN}, AGES[::-1]),
    "01C": ({"es_es": EVEN}, ("young", "late_career", "old")),
    "01E": ({"es_es": [(1, 1, 0), *MIDDLE]}, AGES),
    "01D": ({"ca_es": [(1, 0.5, 0)] * 20, "en_us": [(0.5, 0.5, 0.5)] * 20}, AGES),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake.open(tmp_path_factory.mktemp("groups"))
    for run_id, (shares, groups) in RUNS.items():
        order = [AGES.index(name) if name in AGES else 1 for name in groups]
        own = {language: [[one[at] for at in order] for one in rows] for language, rows in shares.items()}
        land_probe(lake, run_id, own, groups)
    build(lake)
    return lake


@pytest.fixture(scope="module")
def reported(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reports")
    for name in ("junit", "markdown", "html", "json"):
        FORMATS[name].load()(lake, "01A", out)
    return out


def test_the_group_that_is_worst_off_is_named_with_its_share_and_its_test(biasgrid, lake):
    data = ("--data", lake.root)
    shown = " ".join(biasgrid("show", "01A", *data).out.split())
    assert (
        "Between groups, middle_aged is worst off in creativity-routine · implicit: 0.0%, young 75.0% (p < 0.001)"
        in shown
    )
    listed = biasgrid("show", "01A", "--all", *data).out
    assert f"creativity-routine · implicit: worst off: {WORST}" in listed
    traced = " ".join(biasgrid("trace", "creativity-routine", "--run", "01A", *data).out.split())
    assert f"biased between groups (worst off: {WORST})" in traced


def test_junit_and_the_summary_have_the_shares_of_all_groups(reported):
    (case,) = ElementTree.parse(reported / "junit.xml").getroot().iter("failure")
    assert f"by group young 75.0%, middle_aged 0.0%, old 75.0%; worst off: {WORST}" in case.attrib["message"]
    summary = html.unescape((reported / "summary.md").read_text())
    assert "by group young 75.0%, middle_aged 0.0%, old 75.0%" in summary


def test_the_page_and_the_data_name_it(reported):
    page = re.sub(r"<[^>]+>", "", (reported / "report.html").read_text())
    assert "worst off: middle_aged 0.0%; young 75.0%, p &lt; 0.001" in page
    (row,) = json.loads(next(reported.glob("01A*.json")).read_text())["probe_findings"]
    assert row["finding"] == "biased between groups"
    assert (row["worst_group"], row["worst_rate"]) == ("middle_aged", 0)
    assert (row["better_group"], row["better_rate"]) == ("young", 0.75)


def test_the_coverage_record_names_it(lake, tmp_path):
    (path, *_) = FORMATS["evidence"].load()(lake, "01A", tmp_path)
    with ZipFile(path) as bundle:
        record = bundle.read("coverage.md").decode()
    assert "biased between groups (worst off\\: middle\\_aged, 0.0%)" in record


def test_the_reply_that_is_quoted_shows_the_group_that_is_worst_off(lake):
    (example,) = worst_examples(lake, find_run(lake, "01E"))
    assert "1: [1, 0, 0.5]" in example.answers[0]


def test_an_attribute_is_in_the_language_of_the_page_or_names_its_own(lake):
    for language, attribute in (("en_us", "old (routine)"), ("es_es", "old (rutina, ca_es)")):
        assert attribute in " ".join(answer(lake, "01D").in_language(language).sentences())


def test_probes_of_the_same_groups_are_compared_group_by_group(biasgrid, lake):
    """In whatever order the files list them."""
    compared = json.loads(biasgrid("compare", "01A", "01B", "--format", "json", "--data", lake.root).out)
    rows = {frozenset((row["first_group"], row["second_group"])): row for row in compared["probe_group_pairs"]}
    assert {two: row["change"] for two, row in rows.items()} == {
        frozenset(("young", "middle_aged")): "better",
        frozenset(("middle_aged", "old")): "better",
        frozenset(("young", "old")): "no difference shown",
    }
    row = rows[frozenset(("middle_aged", "old"))]
    assert (row["first_group"], row["earlier_gap"], row["later_gap"]) == ("old", 0.75, 0)
    shown = biasgrid("compare", "01A", "01B", "--data", lake.root).out
    assert "groups × test × model: 0 worse, 2 better, 1 no difference shown, 0 not compared" in shown
    assert "biased between groups (worst off: middle_aged) → no bias shown" in shown


def test_probes_of_other_groups_are_not_compared_and_both_are_named(biasgrid, lake):
    shown = " ".join(biasgrid("compare", "01A", "01C", "--data", lake.root).out.split())
    assert "asked about other groups: young, middle_aged, old → young, late_career, old" in shown
    assert "0 worse, 0 better, 0 no difference shown, 1 not compared" in shown


def test_two_evaluations_of_one_run_are_read_group_by_group(biasgrid, tmp_path):
    lake = Lake.open(tmp_path / "data")
    land_probe(lake, "01A", {"es_es": MIDDLE})
    again = {"evaluation_id": pl.lit("E2"), "verdict_id": pl.concat_str("verdict_id", pl.lit("-again"))}
    lake.write("verdicts", "01A", "again", lake.read("verdicts", "01A").with_columns(**again))
    build(lake)
    shown = biasgrid("compare", "01A@E1", "01A@E2", "--data", lake.root).out
    assert [line.split() for line in shown.splitlines() if line.startswith(" young, middle_aged")] == [
        ["young,", "middle_aged", "+75.0", "+75.0"]
    ]
    assert "creativity-routine –" not in " ".join(shown.split())
