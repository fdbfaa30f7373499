"""What analysts take away: queries that come along, files, views."""

import csv
import io
from pathlib import Path

import duckdb
import polars as pl
import pytest

from biasgrid.warehouse.queries.example_queries import worked_queries


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("kind", "read"), [("csv", pl.read_csv), ("parquet", pl.read_parquet), ("json", pl.read_ndjson)]
)
def test_a_mart_becomes_a_file_that_is_named(biasgrid, finished, kind, read):
    result = biasgrid("export", "pass_rates", "--format", kind, "--run", finished.run_id, "--data", finished.data)
    assert (result.code, result.err) == (0, "")
    path, _, count = result.out.strip().partition(" ")
    assert count == f"({read(path).height:,} rows)"
    assert set(read(path)["run_id"]) == {finished.run_id}


def test_a_file_that_exists_is_replaced_only_when_reported(biasgrid, finished, tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_text("precious")
    asked = ("export", "costs", "--out", mine, "--data", finished.data)
    assert biasgrid(*asked).is_a_mistake("mine.csv", "exists already", "--force")
    assert mine.read_text() == "precious"
    assert biasgrid(*asked, "--force").code == 0
    assert mine.read_text().startswith("run_id,")


def test_a_misspelt_mart_is_a_mistake_with_the_nearest(biasgrid, finished, tmp_path):
    result = biasgrid("export", "pas_rates", "--data", finished.data)
    assert result.is_a_mistake("`pas_rates`", "`marts.pass_rates`")
    assert list(tmp_path.iterdir()) == []


def test_the_views_can_be_read_by_a_duckdb_of_ones_own(biasgrid, finished, tmp_path):
    result = biasgrid("warehouse", "views", "--out", "lake.sql", "--data", finished.data)
    assert result.out.strip() == "lake.sql"
    bare = duckdb.connect()
    bare.execute((tmp_path / "lake.sql").read_text(encoding="utf-8"))
    assert bare.sql("select count(*) from lake.cases").fetchall() == [(finished.cases,)]
    again = biasgrid("warehouse", "views", "--out", "lake.sql", "--data", finished.data)
    assert again.is_a_mistake("lake.sql", "--force")
    assert "create or replace view lake.cases" in biasgrid("warehouse", "views", "--data", finished.data).out


def test_views_of_nothing_are_a_mistake(biasgrid, tmp_path):
    assert biasgrid("warehouse", "views", "--data", tmp_path).is_a_mistake("nothing has landed")


def test_queries_that_come_along_are_listed_and_asked_by_name(biasgrid, finished):
    listed = biasgrid("sql", "--example", "list").out
    assert all(name in listed for name in worked_queries())
    result = biasgrid("sql", "--example", "which-requirements-fail", "--format", "csv", "--data", finished.data)
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert {row["model"]: row["point_finding"] for row in rows} == {
        "simulated/constant-no": "not met",
        "simulated/fair": "met",
    }
    assert biasgrid("sql", "--example", "which-fail", "--data", finished.data).is_a_mistake("`which-fail`")


def test_a_query_may_stand_in_a_file_or_be_piped_in(biasgrid, finished, tmp_path, monkeypatch):
    sql = "-- how many?\nselect count(*) as n from staging.stg_cases;\n"
    (tmp_path / "q.sql").write_text(sql, encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO(sql))
    for file in ("q.sql", "-"):
        result = biasgrid("sql", "--file", file, "--format", "csv", "--data", finished.data)
        assert result.out.splitlines() == ["n", str(finished.cases)]
    assert biasgrid("sql", "--file", "none.sql", "--data", finished.data).is_a_mistake("none.sql")


@pytest.mark.parametrize("words", [(), ("select 1", "--example", "who-is-declined")])
def test_there_must_be_exactly_one_query(biasgrid, finished, words):
    assert biasgrid("sql", *words, "--data", finished.data).is_a_mistake("exactly one query", "--example")


def test_csv_of_sql_is_defused_names_of_columns_too(biasgrid, finished):
    asked = "select '=1+1' as reply, -1 as n, '+x' as \"@sum\", ['=2'] as many"
    result = biasgrid("sql", asked, "--format", "csv", "--data", finished.data)
    assert list(csv.reader(io.StringIO(result.out))) == [
        ["reply", "n", "'@sum", "many"],
        ["'=1+1", "-1", "'+x", '["=2"]'],
    ]
    assert '"=1+1"' in biasgrid("sql", asked, "--format", "json", "--data", finished.data).out
