"""Prompts, replies and verdicts lie in the lake alone; the warehouse shows those that it was built from."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake

VIEWS = ("stg_cases", "stg_responses", "stg_verdicts")
MARTS = "from marts.requirement_findings order by all"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, hand_made_in: Any, cell: Any, expected: Any) -> Lake:
    lake = Lake.open(tmp_path_factory.mktemp("finished"))
    for run_id in ("A", "B"):
        hand_made_in(lake).land(run_id, [cell(expected("t", "passed", "failed"))])
    build(lake)
    return lake


@pytest.fixture
def built(lake: Lake, finished: Lake) -> Lake:
    """A copy of it, to be changed."""
    shutil.copytree(finished.root, lake.root, dirs_exist_ok=True)
    return lake


def rows(lake: Lake, texts_of: str | None = None) -> dict[str, int]:
    counted = {view: f"select count(*) as n from staging.{view}" for view in VIEWS}
    return {view: query(lake, sql, texts_of=texts_of)["n"].item() for view, sql in counted.items()}


def break_off(lake: Lake, run_id: str) -> Path:
    (path,) = lake.files("responses", run_id)
    path.write_bytes(path.read_bytes()[:-9])
    return path


def test_what_lands_later_is_not_shown_before_the_next_build(built, hand_made, cell, expected):
    before = rows(built)
    hand_made.land("C", [cell(expected("t", "passed"))])
    for table in ("cases", "responses", "verdicts"):
        built.write(table, "A", "again", built.read(table, "A"))
    assert rows(built) == before
    build(built)
    assert rows(built)["stg_responses"] == before["stg_responses"] + 1


def test_rows_that_were_made_while_building_are_computed_anew_where_they_are_asked_for(built):
    outcomes = "select outcome, count(*) as n from intermediate.int_case_outcomes group by all order by all"
    assert query(built, outcomes).rows() == [("failed", 2), ("passed", 2)]
    summed = "select sum(cases) as n, sum(passed) as passed from intermediate.int_instance_outcomes"
    assert query(built, summed, texts_of="A").rows() == [(2, 1)]


def test_a_lake_that_has_moved_is_read_from_its_new_place(built, tmp_path):
    before, moved = rows(built), tmp_path / "[moved] elsewhere*"
    built.root.rename(moved)
    assert rows(Lake.at(moved)) == before


def test_an_own_session_sets_the_lakes_place_and_the_run(built, tmp_path):
    (built.root / "lake").rename(tmp_path / "lake")
    with duckdb.connect(str(built.database), read_only=True) as session:
        session.execute(f"set variable lake = '{tmp_path}'; set variable run = 'B'")
        texts = "select distinct run_id from staging.stg_responses where text is not null"
        assert session.execute(texts).fetchall() == [("B",)]


@pytest.mark.parametrize("asked", ["A", "not a run"])
def test_only_files_of_the_run_that_is_asked_for_are_opened(built, asked):
    break_off(built, "B")
    answers = "select count(*) as n from staging.stg_responses where run_id = ?"
    assert query(built, answers, [asked], texts_of=asked)["n"].item() == (2 if asked == "A" else 0)


def test_marts_need_no_lake_and_texts_name_the_missing_file(built):
    found, path = query(built, MARTS), break_off(built, "B")
    with pytest.raises(UserError, match=path.name):
        query(built, "select text from staging.stg_responses")
    (built.root / "lake").rename(built.root / "taken away")
    with pytest.raises(UserError, match="cannot be read"):
        query(built, "from staging.stg_cases")
    assert query(built, MARTS).equals(found)
