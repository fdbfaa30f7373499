"""The data dictionary: fresh, whole, and the same on every machine. The SQL that made a table: a script that
makes it again, of one run, from nothing but the lake's views.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.build.models import load_models
from biasgrid.warehouse.queries.dictionary import DICTIONARY, as_markdown, column_meanings, table_meaning
from biasgrid.warehouse.queries.lineage import as_script, made_of, script
from biasgrid.warehouse.schemas import TABLES
from biasgrid.warehouse.storage.lake import Lake
from support.paths import ROOT


@pytest.fixture(scope="module")
def dictionary() -> str:
    return as_markdown()


def section(dictionary: str, relation: str) -> str:
    return dictionary.partition(f"## {relation}\n")[2].partition("\n## ")[0]


def test_the_committed_dictionary_is_what_the_models_give(dictionary):
    assert (ROOT / DICTIONARY).read_text(encoding="utf-8") == dictionary, "run `make dictionary`"


@pytest.mark.drill
def test_it_does_not_hang_on_the_order_in_which_sets_happen_to_be_read():
    program = (
        "from biasgrid.warehouse.queries.dictionary import as_markdown\n"
        "print(hash(as_markdown()) and as_markdown()[:3000])"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(shown) == 1


@pytest.mark.parametrize("model", load_models(), ids=lambda model: model.relation)
def test_every_column_of_every_model_is_described_with_unit_and_values(dictionary, model):
    shown = section(dictionary, model.relation)
    for name, column in model.about.columns.items():
        (row,) = (line for line in shown.splitlines() if line.startswith(f"| `{name}` |"))
        cells = [cell.strip() for cell in row.replace("\\|", "¦").split("|")[1:-1]]
        assert len(cells) == 5
        assert cells[3] == column.unit
        assert ("never null" in cells[4]) == column.not_null
        assert all(f"`{value}`" in cells[4] for value in column.accepted)
    assert all(invariant in shown for invariant in model.about.invariants)
    assert all(f"[{relation}](#" in shown for relation in model.reads)


def test_marts_come_first_and_each_table_below_those_that_it_reads(dictionary):
    places = {line[3:]: number for number, line in enumerate(dictionary.splitlines()) if line.startswith("## ")}
    marts, intermediate, staging, lake = (
        [places[name] for name in places if name.startswith(part)] for part in PARTS
    )
    assert max(marts) < min(intermediate)
    assert max(intermediate) < min(staging)
    assert max(staging) < min(lake)
    for model in load_models():
        same = [read for read in model.reads if read.startswith(f"{model.schema}.")]
        assert all(places[read] < places[model.relation] for read in same)


PARTS = ("marts.", "intermediate.", "staging.", "lake.")


def test_what_it_names_outside_of_the_lake_can_be_queried(dictionary, lake):
    build(lake)
    relations = "select table_schema || '.' || table_name as name from information_schema.tables"
    names = set(re.findall(r"\b(?:marts|intermediate|staging|storage)\.\w+", dictionary))
    found = set(query(lake, relations)["name"])
    assert names - found == {"intermediate.int_", "staging.stg_"}
    assert {name for name in found if name.startswith("storage.")} <= names


@pytest.mark.parametrize("table", TABLES)
def test_every_table_of_the_lake_and_each_of_its_columns_has_a_meaning(table):
    assert table_meaning(table)
    untold = [name for name, column in column_meanings(table).items() if not column.description]
    assert untold == [], "say what it means behind the column, in warehouse/schemas.py"


def test_a_column_that_no_staging_model_passes_on_is_described_by_its_comment_in_the_schema():
    assert column_meanings("criteria")["coverage"].description.startswith("least share of planned cases")
    assert "input_file_id" in column_meanings("jobs")


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
