"""The lake as a build sees it, however its files are read, and models that have nothing to be made of."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

from biasgrid.warehouse.build import attach_lake as attach_lake_module
from biasgrid.warehouse.build.attach_lake import attach_lake
from biasgrid.warehouse.build.build import build, connect, fetch_rows, fill, open_new_file
from biasgrid.warehouse.build.materialize import Made, declare_no_repeats, make
from biasgrid.warehouse.build.model_tests import ModelTestFailed, check
from biasgrid.warehouse.build.models import Model, load_models
from biasgrid.warehouse.storage.lake import Lake


@pytest.fixture
def bare(lake: Lake, tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A warehouse with the schemas, and an empty lake."""
    with open_new_file(tmp_path / "bare.duckdb") as warehouse:
        attach_lake(warehouse, lake)
        declare_no_repeats(warehouse)
        warehouse.execute(
            "create schema storage; create schema staging; create schema intermediate; create schema marts"
        )
        yield warehouse


def contents(lake: Lake) -> dict[str, pl.DataFrame]:
    with connect(lake) as warehouse:
        names = [model.relation for model in load_models()]
        return {name: fetch_rows(warehouse, f"from {name} order by all") for name in names}


@pytest.mark.parametrize("version", ["first"])
def test_small_files_and_large_ones_make_the_same_warehouse(earlier, version, monkeypatch):
    build(earlier)
    small = contents(earlier)
    monkeypatch.setattr(attach_lake_module, "SMALL", 0)
    build(earlier, full=True)
    large = contents(earlier)
    assert all(small[name].equals(large[name]) for name in small)
    assert small["marts.pass_rates"].height > 0


def test_models_are_made_with_the_types_of_their_yaml(bare):
    for model in load_models():
        make(bare, model)
        check(bare, model, Made(rows=None))
        assert all(column.type for column in model.about.columns.values())


def test_a_column_of_another_type_is_named_with_both(bare):
    (runs,) = (model for model in load_models() if model.relation == "staging.stg_runs")
    bare.execute("create table staging.stg_runs as select 1::integer as run_id")
    with pytest.raises(ModelTestFailed, match=r"run_id integer.*describes run_id varchar"):
        check(bare, runs, Made(rows=None, is_once=True))


def rows_without(warehouse: duckdb.DuckDBPyConnection, model: Model) -> int:
    """Number of a model's rows if its `rows_of` relation is empty."""
    source = model.about.rows_of
    name = source.partition(".")[2]
    sql = re.sub(rf"\b{re.escape(source)}\b(?! as)", f"{source} as {name}", model.sql)
    sql = sql.replace(f"{source} as", f"(from {source} where false) as")
    (rows,) = warehouse.execute(f"select count(*) from ({sql})").fetchall()[0]
    return int(rows)


def stemming_from_nothing(lake: Lake, path: Path) -> dict[str, int]:
    with open_new_file(path) as warehouse:
        fill(warehouse, lake, load_models())
        return {model.relation: rows_without(warehouse, model) for model in load_models()}


@pytest.mark.parametrize("version", ["second"])
def test_there_are_no_rows_without_those_that_they_stem_from(earlier, version, tmp_path):
    assert not any(stemming_from_nothing(earlier, tmp_path / "without.duckdb").values())


@pytest.mark.drill
@pytest.mark.parametrize("kind", ["probed", "attacked", "talked"])
def test_nor_are_there_of_other_kinds_of_runs(kind, request, tmp_path):
    lake = Lake.at(request.getfixturevalue(kind).data)
    assert not any(stemming_from_nothing(lake, tmp_path / "without.duckdb").values())
