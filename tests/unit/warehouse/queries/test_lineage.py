"""The SQL that made a table: a script that makes it again, of one run, from nothing but the lake's views."""

from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.queries.lineage import as_script, made_of, script
from biasgrid.warehouse.storage.lake import Lake

RELATIONS = ("marts.requirement_findings", "marts.deltas")


@pytest.fixture(scope="module")
def built(
    tmp_path_factory: pytest.TempPathFactory,
    hand_made_in: Any,
    cell: Callable[..., Any],
    expected: Any,
    numbers: Any,
) -> Lake:
    hand_made = hand_made_in(Lake.open(tmp_path_factory.mktemp("built")))
    hand_made.land("R1", [cell([*expected("t1", "passed", "passed"), *numbers("t2", 1, 9)])])
    hand_made.land("R2", [cell([*expected("t1", "passed", "failed"), *numbers("t2", 1, 1)])])
    build(hand_made.lake)
    return Lake(hand_made.lake.root)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_script_gives_the_rows_of_the_mart_and_of_that_run_alone(built, relation):
    bare = duckdb.connect()
    bare.execute(as_script(built))
    bare.execute("set TimeZone = 'UTC'")
    bare.execute(script([relation], "R1", []))
    again = bare.sql(f"select * from {relation} order by all").fetchall()
    mart = query(built, f"select * from {relation} where run_id = 'R1' order by all")
    assert [tuple(map(str, row)) for row in again] == [tuple(map(str, row)) for row in mart.rows()]
    assert bare.sql("select distinct run_id from staging.stg_cases").fetchall() == [("R1",)]


def test_it_holds_what_the_table_is_made_of_and_nothing_else():
    shown = script(["marts.deltas"], "R1", ["select 1"])
    assert "create table intermediate.int_same_value_tests" in shown
    assert "create table marts.deltas" in shown
    assert "marts.costs" not in shown
    assert shown.rstrip().endswith("select 1;")
    names = [model.relation for model in made_of(["marts.deltas"])]
    assert (
        names.index("staging.stg_cases")
        < names.index("intermediate.int_same_value_tests")
        < names.index("marts.deltas")
    )


def test_it_never_replaces_what_stands_already(built):
    bare = duckdb.connect()
    bare.execute(as_script(built))
    bare.execute(script(["marts.deltas"], "R1", []))
    with pytest.raises(duckdb.CatalogException, match="already exists"):
        bare.execute(script(["marts.deltas"], "R1", []))


def test_the_name_of_a_run_is_text(built):
    bare = duckdb.connect()
    bare.execute(as_script(built))
    bare.execute(script(["marts.deltas"], "x' or 'a' = 'a", []))
    assert bare.sql("from marts.deltas").fetchall() == []


def test_macros_that_are_called_come_along_with_those_that_they_call(tmp_path):
    (tmp_path / "a.sql").write_text(
        "-- halves\ncreate macro extra.half(x) as x / 2;\n\ncreate macro extra.unused(x) as\n    extra.half(x);\n"
    )
    calling = "create macro staging.stg_cases(x) as extra.half(x);\n"  # a name that the models do mention
    (tmp_path / "A.sql").write_text(calling)
    shown = script(["marts.deltas"], "R1", [], macros=tmp_path)
    assert "create schema extra;" in shown
    assert shown.index("create macro extra.half") < shown.index("create macro staging.stg_cases")
    assert "extra.unused" not in shown
    assert "extra" not in script(["marts.deltas"], "R1", [], macros=tmp_path / "none")
