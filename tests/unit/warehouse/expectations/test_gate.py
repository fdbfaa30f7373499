"""A new warehouse takes the old one's place only if lake and marts are as expected."""

import re
import shutil
from typing import Any

import pytest

from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.expectations.gate import build_inspected
from biasgrid.warehouse.expectations.report import ExpectationsFailed
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake

pytestmark = pytest.mark.drill

FINDINGS = "select model, passed, failed from marts.pass_rates order by all"
REMOTE = re.compile(r"""(?:src|href)=["']?(?:https?:)?//|@import|url\(\s*["']?(?:https?:)?//""")


def pages(lake: Lake) -> dict[str, str]:
    return {str(path.relative_to(lake.pages)): path.read_text("utf-8") for path in lake.pages.rglob("*.html")}


def page_of(lake: Lake, table: str) -> str:
    return next(text for path, text in pages(lake).items() if path.startswith(f"validations/{table}/"))


def orphan_verdict(lake: Lake, rewritten: Any, landed_again: Any) -> tuple[str, str]:
    landed_again(lake, "verdicts", case_id="gone", verdict_id="<b>stray</b>")
    return "lake.verdicts", "never: the case that was judged is not there"


def unknown_outcome(lake: Lake, rewritten: Any, landed_again: Any) -> tuple[str, str]:
    rewritten(lake, "verdicts", outcome="<i>perhaps</i>")
    return "lake.verdicts", "outcome is one of passed, failed, refused, unreadable, error"


def missing_cell(lake: Lake, rewritten: Any, landed_again: Any) -> tuple[str, str]:
    for table in ("cases", "responses", "verdicts"):
        lake.files(table, "R1")[0].unlink()
    return "lake.cases", "never: cells that were planned lack cases"


def tolerance_beyond_one(lake: Lake, rewritten: Any, landed_again: Any) -> tuple[str, str]:
    rewritten(lake, "criteria", tolerance=1.5)
    return "lake.criteria", "tolerance is 0 at least and 1 at most"


@pytest.mark.parametrize(
    "damage",
    [orphan_verdict, unknown_outcome, missing_cell, tolerance_beyond_one],
    ids=lambda damage: damage.__name__,
)
def test_damage_is_named_with_its_table_on_its_page_and_the_old_warehouse_still_answers(
    whole, inspector, rewritten, landed_again, damage
):
    before = whole.database.read_bytes()
    relation, sentence = damage(whole, rewritten, landed_again)
    with pytest.raises(ExpectationsFailed) as caught:
        build_inspected(whole, inspector)
    assert (relation, sentence) in {(f.relation, f.sentence) for f in caught.value.report.failures}
    assert f"`{relation}`: {sentence}: " in str(caught.value)
    assert "R1" in str(caught.value)
    assert whole.database.read_bytes() == before
    assert query(whole, FINDINGS).height == 2
    shown = page_of(whole, relation.replace(".", "/"))
    assert re.split(" is (?:one of|0 at least) ", sentence)[0] in shown
    assert re.search(r"[1-9] unexpected values found", shown)
    assert not re.search("<b>stray|<i>perhaps", shown)


def test_a_file_that_cannot_be_read_is_reported_as_by_any_build(whole, inspector):
    path = whole.files("responses", "R1")[0]
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(LakeDamaged, match="no whole Parquet file"):
        build_inspected(whole, inspector)


def test_what_no_build_refuses_is_named_and_once_corrected_all_is_as_expected(
    whole, inspector, rewritten, landed_again
):
    before, landed = whole.database.stat().st_ino, whole.read("responses", "R1")
    landed_again(whole, "responses", purpose="judge")
    rewritten(whole, "responses", purpose="judge")
    with pytest.raises(ExpectationsFailed) as caught:
        build_inspected(whole, inspector)
    assert {(failure.relation, failure.sentence, failure.rows) for failure in caught.value.report.failures} == {
        ("lake.responses", "one row per run_id × response_id", 1),
        ("lake.responses", "every case of a prompted cell has a reply or a failure", 1),
    }
    assert whole.database.stat().st_ino == before
    shown = page_of(whole, "lake/responses")
    assert "one row per run_id × response_id" in shown
    assert f"1 row: R1 · R1/{rewritten.case}" in shown

    whole.files("responses", "R1", "again")[0].unlink()
    rewritten(whole, "responses", purpose="subject")
    assert whole.read("responses", "R1").equals(landed)
    report = build_inspected(whole, inspector)
    assert report.failures == ()
    assert {table.relation: table.rows for table in report.tables}["lake.responses"] == 8
    assert whole.database.stat().st_ino != before
    assert_pages_need_no_network(whole)


@pytest.mark.parametrize("version", ["first"])
def test_a_lake_of_an_earlier_version_is_as_expected(earlier, version, inspector):
    report = build_inspected(earlier, inspector)
    assert report.failures == ()
    assert {table.relation: table.rows for table in report.tables}["marts.requirement_findings"] == 1


def assert_pages_need_no_network(lake: Lake) -> None:
    found = pages(lake)
    assert "marts.pass_rates" in found["index.html"]
    assert [path for path, text in found.items() if "unexpected values found" in text] == []
    assert [path for path, text in found.items() if REMOTE.search(text)] == []
    assert sorted(path.name for path in lake.root.iterdir()) == [
        "biasgrid.duckdb",
        "expectations",
        "lake",
        "locks",
    ]


@pytest.mark.parametrize("kind", ["probed", "attacked"])
def test_a_lake_of_probes_or_red_teams_is_as_expected(kind, request, inspector, tmp_path):
    run = request.getfixturevalue(kind)
    shutil.copytree(run.data, tmp_path / "whole")
    report = build_inspected(Lake(tmp_path / "whole"), inspector)
    rows = {table.relation: table.rows for table in report.tables}
    shown = {"probed": "lake.probe_verdicts", "attacked": "lake.redteam_verdicts"}[kind]
    assert rows[shown] > 0
    assert not report.failures
