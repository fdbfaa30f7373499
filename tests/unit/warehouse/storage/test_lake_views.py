"""The lake's tables as views, in a DuckDB that knows nothing of biasgrid. Runs as they are listed: each in its
newest state.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

from biasgrid.warehouse.build.text_views import column_types
from biasgrid.warehouse.queries.lineage import as_script
from biasgrid.warehouse.schemas import TABLES
from biasgrid.warehouse.storage.compaction import compact_runs
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.manifest import LOG
from biasgrid.warehouse.storage.runs import all_runs, begin_run, short_ids


@pytest.fixture
def runs(hand_made: Any, cell: Callable[..., Any], expected: Callable[..., Any]) -> Lake:
    """Two runs; the second's cases come from a version that knew neither `facets` nor `wording`."""
    for run_id in ("R1", "R2"):
        hand_made.land(run_id, [cell(expected("t1", "passed", "failed"))])
    (path,) = hand_made.lake.files("cases", "R2")
    pq.write_table(pq.read_table(path).drop_columns(["facets", "wording"]), path)
    (hand_made.lake.manifest_folder("R2") / LOG).unlink()
    return hand_made.lake


def session(lake: Lake) -> duckdb.DuckDBPyConnection:
    bare = duckdb.connect()
    bare.execute(as_script(lake))
    return bare


def test_every_table_has_its_declared_columns_and_types_and_the_rows_of_all_runs(runs):
    bare = session(runs)
    for table in TABLES:
        described = bare.execute(f"describe lake.{table}").fetchall()
        assert {name: kind for name, kind, *_ in described} == column_types(table)
        assert bare.sql(f"select count(*) from lake.{table}").fetchall() == [(runs.read(table).height,)]


def test_columns_that_are_younger_than_a_file_are_null_there(runs):
    (older,) = runs.files("cases", "R1")
    pq.write_table(pq.read_table(older).drop_columns(["facets", "language"]), older)
    counts = "select run_id, count(*), count(facets), count(language) from lake.cases group by all order by all"
    assert session(runs).sql(counts).fetchall() == [("R1", 2, 0, 0), ("R2", 2, 0, 2)]


def test_what_lands_later_shows_by_itself(runs, hand_made, cell, expected):
    bare = session(runs)
    hand_made.land("R3", [cell(expected("t1", "passed"))])
    assert bare.sql("select distinct run_id from lake.verdicts order by all").fetchall() == [
        ("R1",),
        ("R2",),
        ("R3",),
    ]


def test_files_whose_rows_count_in_others_are_left_out(runs, hand_made, cell, expected):
    bare = session(runs)

    def shown() -> dict[str, list[Any]]:
        return {
            table: bare.sql(f"from lake.{table}").pl().sort(pl.all()).rows() for table in ("cases", "verdicts")
        }

    before = shown()
    for step in (compact_runs, compact_runs, lambda lake: lake.separate("R1"), compact_runs):
        step(runs)
        assert shown() == before
        later = cell(expected("t2", "passed"), model="simulated/later")
        hand_made.verdicts("R1", "E9", later)
        before["verdicts"] = sorted(runs.read("verdicts").rows())
        assert sorted(shown()["verdicts"]) == before["verdicts"]
    assert len(list(runs.folder("verdicts", "R1").iterdir())) > len(runs.files("verdicts", "R1"))


def test_the_script_may_run_twice_and_writes_nothing(runs):
    before = {path: path.stat().st_mtime_ns for path in runs.root.rglob("*")}
    bare = session(runs)
    bare.execute(as_script(runs))
    assert {path: path.stat().st_mtime_ns for path in runs.root.rglob("*")} == before


def test_a_table_in_which_nothing_has_landed_is_an_empty_view(runs):
    bare = session(runs)
    assert bare.sql("from lake.jobs").fetchall() == []
    assert "nothing had landed here" in as_script(runs)


@pytest.mark.parametrize("name", ["it's", "a[b]*c?", "with space"])
def test_a_folder_of_any_name_can_be_read(tmp_path, hand_made_in, name, cell, expected):
    lake = Lake(tmp_path / name)
    hand_made_in(lake).land("R1", [cell(expected("t1", "passed"))])
    assert session(lake).sql("select outcome from lake.verdicts").fetchall() == [("passed",), ("passed",)]


def test_the_views_and_polars_see_the_same_rows(runs):
    seen = session(runs).sql("select verdict_id, outcome from lake.verdicts order by all").fetchall()
    assert seen == runs.read("verdicts").select("verdict_id", "outcome").sort(pl.all()).rows()


def test_each_run_is_listed_once_in_its_newest_state(tmp_path):
    lake = Lake(tmp_path)
    runs = [begin_run(lake, "{}", "{}", {}, seed) for seed in range(3)]
    runs[0].record(lake, "running").record(lake, "completed")
    runs[1].record(lake, "failed")
    lake.write(
        "runs",
        runs[2].run_id,
        "by-hand",
        lake.read("runs", runs[2].run_id).with_columns(
            event_id=pl.lit("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"), state=pl.lit("interrupted")
        ),
    )
    assert [run.state for run in all_runs(lake)] == ["completed", "failed", "interrupted"]
    assert [run.seed for run in all_runs(lake)] == [0, 1, 2]


def test_only_the_newest_event_of_each_run_is_read(tmp_path):
    lake = Lake(tmp_path)
    run = begin_run(lake, "{}", "{}", {}, 1)
    (first,) = lake.files("runs")
    run.record(lake, "completed")
    first.write_bytes(b"PAR1 which no reader can read PAR1")
    assert [run.state for run in all_runs(lake)] == ["completed"]


@pytest.mark.parametrize(
    ("ids", "short"),
    [
        (["01M86KN9Y5YDFSHV"], ["01M86KN9"]),
        (["01M86KN9Y5YDFSHV", "01M86M1GY5YDFSHV"], ["01M86KN9", "01M86M1G"]),
        (["01M86KN9Y5AA", "01M86KN9Y5AB", "01M86KN9Z"], ["01M86KN9Y5AA", "01M86KN9Y5AB", "01M86KN9Z"]),
        (["R1", "R2"], ["R1", "R2"]),
    ],
)
def test_a_short_id_is_that_of_one_run_alone(tmp_path, ids, short):
    run = begin_run(Lake(tmp_path), "{}", "{}", {}, 1)
    assert [*short_ids(replace(run, run_id=one) for one in ids).values()] == short
