"""Lakes that hold what cannot be, and runs under way that only look like it."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.build.integrity import refuse_unreadable
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake

"""Damages run R1 and returns what the message must name."""
CELL = "fairness-simulated-one-en_us-constrained-observational"
CASE = f"{CELL}/t/c0/1"


def one(lake: Lake, table: str, **changes: object) -> pl.DataFrame:
    """The row of R1 on `CASE`, with some columns changed."""
    on_case = lake.read(table, "R1").filter(pl.col("case_id") == CASE)
    return on_case.with_columns(**{name: pl.lit(value) for name, value in changes.items()})


def response_with_another_text(lake: Lake) -> tuple[str, ...]:
    lake.write("responses", "R1", "again", one(lake, "responses", text="Yes"))
    return "`responses`", f"`R1/{CASE}`", "differ", "again.parquet", f"{CELL}.parquet"


def response_to_two_questions(lake: Lake) -> tuple[str, ...]:
    lake.write("responses", "R1", "again", one(lake, "responses", request_key="other"))
    return "`responses`", f"`R1/{CASE}`", "several questions", "again.parquet"


def case_planned_differently(lake: Lake) -> tuple[str, ...]:
    lake.write("cases", "R1", "again", one(lake, "cases", template_text="Other?"))
    return "`cases`", f"`{CASE}`", "differ", "again.parquet"


def verdict_of_another_outcome(lake: Lake) -> tuple[str, ...]:
    lake.write("verdicts", "R1", "again", one(lake, "verdicts", outcome="refused"))
    return "`verdicts`", f"`E1/{CASE}`", "differ", "again.parquet"


def verdict_without_its_case(lake: Lake) -> tuple[str, ...]:
    lake.write("verdicts", "R1", "stray", one(lake, "verdicts", case_id="gone", verdict_id="stray"))
    return "`verdicts`", "`stray`", "case", "stray.parquet"


def verdict_without_its_response(lake: Lake) -> tuple[str, ...]:
    verdicts = lake.read("verdicts", "R1").with_columns(response_id=pl.lit("gone"))
    lake.write("verdicts", "R1", f"E1-{CELL}", verdicts.filter(pl.col("level") == "instance"))
    return "`verdicts`", f"`E1/{CASE}`", "response", f"E1-{CELL}.parquet"


def verdict_without_its_template(lake: Lake) -> tuple[str, ...]:
    template = lake.read("verdicts", "R1").filter(pl.col("level") == "template")
    stray = template.with_columns(template_id=pl.lit("gone"), verdict_id=pl.lit("stray"))
    lake.write("verdicts", "R1", "stray", stray)
    return "`verdicts`", "`stray`", "template", "stray.parquet"


def verdict_without_its_criteria(lake: Lake) -> tuple[str, ...]:
    for file in lake.files("criteria", "R1"):
        file.unlink()
    return "`verdicts`", "`E1`", "criteria", f"E1-{CELL}.parquet"


def unknown_outcome(lake: Lake) -> tuple[str, ...]:
    lake.write("verdicts", "R1", f"E1-{CELL}", lake.read("verdicts", "R1").with_columns(outcome=pl.lit("maybe")))
    return "`verdicts`", f"`E1/{CASE}`", "none of passed, failed", f"E1-{CELL}.parquet"


def cell_without_cases(lake: Lake) -> tuple[str, ...]:
    for table in ("cases", "verdicts"):
        for path in lake.files(table, "R1"):
            path.unlink()
    return "`cases`", f"`{CELL}`", "planned", "lake/cases/run_id=R1"


def cell_never_judged(lake: Lake) -> tuple[str, ...]:
    lake.files("verdicts", "R1")[0].unlink()
    return "`verdicts`", f"`{CELL}`", "never judged", "lake/verdicts/run_id=R1"


def truncated_file(lake: Lake) -> tuple[str, ...]:
    path = lake.files("responses", "R1")[0]
    path.write_bytes(path.read_bytes()[:-40])
    return "`responses`", str(path), "no whole Parquet file"


def file_broken_within(lake: Lake) -> tuple[str, ...]:
    path = lake.files("verdicts", "R1")[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(len(whole) // 3) + whole[4 + len(whole) // 3 :])
    return "`verdicts`", str(path), "no whole Parquet file"


BREAKS = [
    response_with_another_text,
    response_to_two_questions,
    case_planned_differently,
    verdict_of_another_outcome,
    verdict_without_its_case,
    verdict_without_its_response,
    verdict_without_its_template,
    verdict_without_its_criteria,
    unknown_outcome,
    cell_without_cases,
    cell_never_judged,
    truncated_file,
    file_broken_within,
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, hand_made_in: Any, cell: Any, expected: Any) -> Lake:
    lake = Lake.open(tmp_path_factory.mktemp("finished"))
    hand_made_in(lake).land("R1", [cell(expected("t", "passed", "failed"))])
    build(lake)
    return lake


@pytest.fixture
def whole(finished: Lake, tmp_path: Path) -> Lake:
    """A lake of one finished run, and its warehouse."""
    shutil.copytree(finished.root, tmp_path / "whole")
    return Lake(tmp_path / "whole")


@pytest.mark.parametrize("damage", BREAKS, ids=lambda damage: damage.__name__)
def test_damage_is_named_and_the_old_warehouse_still_answers(whole, damage):
    before = whole.database.read_bytes()
    named = damage(whole)
    with pytest.raises(LakeDamaged) as caught:
        build(whole)
    shown = str(caught.value)
    assert [part for part in (*named, "R1", "biasgrid warehouse build") if part not in shown] == []
    assert whole.database.read_bytes() == before
    assert query(whole, "select passed, failed from marts.pass_rates").rows() == [(0, 1)]
    assert sorted(path.name for path in whole.root.iterdir()) == ["biasgrid.duckdb", "lake", "locks"]


def test_after_an_error_of_duckdb_the_files_that_cannot_be_read_are_named(whole):
    refuse_unreadable(whole, duckdb.IOException("no such disk"))
    _, path, flaw = truncated_file(whole)
    with pytest.raises(LakeDamaged) as damaged:
        refuse_unreadable(whole, duckdb.IOException("no such disk"))
    (mistake,) = damaged.value.mistakes
    assert path in str(mistake)
    assert flaw in str(mistake)


def test_all_of_a_lakes_damage_is_reported_at_once(whole):
    wanted = unknown_outcome(whole) + case_planned_differently(whole)
    with pytest.raises(LakeDamaged) as caught:
        build(whole)
    assert [part for part in wanted if part not in str(caught.value)] == []


def test_many_broken_rows_are_counted_and_a_few_are_named(lake, hand_made, cell, expected):
    hand_made.land("R1", [cell(expected("t", *["passed"] * 50))])
    unknown_outcome(lake)
    with pytest.raises(LakeDamaged, match="and 48 more"):
        build(lake)


def test_taking_the_run_out_as_the_message_advises_brings_the_warehouse_back(
    whole, hand_made_in, cell, expected, tmp_path
):
    hand_made_in(whole).land("R2", [cell(expected("t", "passed"))])
    truncated_file(whole)
    with pytest.raises(LakeDamaged):
        build(whole)
    for folder in list((whole.root / "lake").glob("*/run_id=R1")):
        folder.rename(tmp_path / folder.parent.name)
    build(whole)
    assert query(whole, "select run_id from marts.pass_rates").rows() == [("R2",)]


@pytest.mark.parametrize("state", ["running", "interrupted", "failed"])
def test_cells_that_wait_for_their_verdicts_are_no_damage_in_a_run_under_way(
    lake, hand_made, cell, expected, criterion, state
):
    hand_made.run("R1", state)
    hand_made.cell("R1", cell(expected("t", "passed")))
    hand_made.criteria("R1", "E1", [criterion()])
    build(lake)
    assert query(lake, "select unjudged, point_finding from marts.pass_rates").rows() == [(1, "not evaluated")]


def test_rows_stored_again_after_a_kill_count_once(whole):
    before = query(whole, "from marts.pass_rates")
    for table in ("cases", "responses", "verdicts"):
        whole.write(table, "R1", "again", whole.read(table, "R1"))
    build(whole)
    assert query(whole, "from marts.pass_rates").equals(before)


def test_an_evaluation_that_was_broken_off_is_no_damage_and_does_not_count(whole):
    before = query(whole, "from marts.pass_rates")
    cut_short = one(whole, "verdicts", evaluation_id="E2", verdict_id="cut short", outcome="refused")
    whole.write("verdicts", "R1", f"E2-{CELL}", cut_short)
    build(whole)
    assert query(whole, "from marts.pass_rates").equals(before)


def test_a_cell_that_is_judged_again_later_is_no_damage(whole):
    later = pl.datetime(2026, 4, 1, time_zone="UTC").cast(pl.Datetime("us", "UTC"))
    whole.write("verdicts", "R1", "again", whole.read("verdicts", "R1").with_columns(judged_at=later))
    build(whole)
    assert query(whole, "select count(*), count(judged_at) from staging.stg_verdicts").rows() == [(3, 3)]


def test_a_reply_to_the_same_request_may_stand_for_several_cases(whole):
    first = whole.read("responses", "R1")["response_id"][0]
    instance = pl.col("level") == "instance"
    shared = pl.when(instance).then(pl.lit(first)).otherwise(pl.col("response_id"))
    whole.write("verdicts", "R1", f"E1-{CELL}", whole.read("verdicts", "R1").with_columns(response_id=shared))
    build(whole)


STRAYS = {
    "the case that was judged is not there": {"case_id": "gone"},
    "the response that was judged is not there": {"response_id": "gone"},
    "the outcome is none of passed, failed": {"outcome": "maybe"},
}
"""Problem reported for a verdict of a probe or a red team with this change."""


@pytest.mark.parametrize("kind", ["probed", "attacked"])
def test_damage_in_probes_and_red_teams_is_named(kind, request, tmp_path):
    run = request.getfixturevalue(kind)
    shutil.copytree(run.data, tmp_path / "whole")
    whole = Lake(tmp_path / "whole")
    row = whole.read("verdicts", run.run_id).head(1)
    for shown, changes in STRAYS.items():
        named = {"verdict_id": "stray", **changes}
        stray = row.with_columns(pl.lit(value).alias(name) for name, value in named.items())
        whole.write("verdicts", run.run_id, "stray", stray)
        with pytest.raises(LakeDamaged) as caught:
            build(whole)
        wanted = (shown, "`stray`", "stray.parquet", run.run_id)
        assert [part for part in wanted if part not in str(caught.value)] == []


def test_a_probe_that_has_ended_was_read_in_every_cell(probed, tmp_path):
    shutil.copytree(probed.data, tmp_path / "whole")
    whole = Lake(tmp_path / "whole")
    whole.files("verdicts", probed.run_id)[0].unlink()
    with pytest.raises(LakeDamaged, match="never judged"):
        build(whole)
