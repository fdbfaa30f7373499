"""Models of one run keep runs apart: each of their joins, groups and windows goes by the run. The lake as a build
sees it, however its files are read, and models that have nothing to be made of.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from biasgrid.warehouse.build import attach_lake as attach_lake_module
from biasgrid.warehouse.build.attach_lake import attach_lake
from biasgrid.warehouse.build.build import build, fill, open_new_file
from biasgrid.warehouse.build.materialize import Made, declare_no_repeats, make
from biasgrid.warehouse.build.model_tests import ModelTestFailed, check
from biasgrid.warehouse.build.models import Model, load_models
from biasgrid.warehouse.storage.lake import Lake
from support.hand_made_runs import contents

OF_ONE_RUN = {"run_id", "case_key", "template_key", "unit_key", "unit", "question_key"}
"""The run, and hashes of keys that it is part of."""


def names(parts: object) -> set[str]:
    found = parts if isinstance(parts, list) else [parts] if isinstance(parts, exp.Expression) else []
    return {name.name for part in found for name in part.find_all(exp.Column, exp.Identifier)}


def mixed(sql: str, keys: set[str]) -> Iterator[str]:
    """The parts of a SELECT that may put rows of several runs together."""
    query = sqlglot.parse_one(sql, dialect="duckdb")
    for select in query.find_all(exp.Select):
        yield from (part.sql() for part in _aggregates(select) if not _by(select) & keys)
        for join in select.args.get("joins") or ():
            if not (names(join.args.get("using")) | names(join.args.get("on"))) & keys:
                yield join.sql()
    for window in query.find_all(exp.Window):
        is_number = isinstance(window.this, exp.RowNumber) and not window.args.get("order")
        if not is_number and not window.args.get("alias") and not names(window.args.get("partition_by")) & keys:
            yield window.sql()


def _by(select: exp.Select) -> set[str]:
    group = select.args.get("group")
    by = names(group)
    return by | names(select.expressions) if group is not None and group.args.get("all") else by


def _aggregates(select: exp.Select) -> Iterator[exp.Expression]:
    for part in select.expressions:
        for found in part.find_all(exp.AggFunc):
            if found.find_ancestor(exp.Select) is select and not found.find_ancestor(exp.Window):
                yield found


OF_RUNS = [model for model in load_models() if not model.is_of_history]


@pytest.mark.parametrize("model", OF_RUNS, ids=lambda model: model.name)
def test_a_model_of_one_run_keeps_runs_apart(model):
    assert list(mixed(model.sql, OF_ONE_RUN | set(model.about.keys))) == []


@pytest.mark.parametrize("model", OF_RUNS, ids=lambda model: model.name)
def test_no_column_is_declared_a_key_for_nothing(model):
    assert [
        key for key in model.about.keys if not list(mixed(model.sql, OF_ONE_RUN | {*model.about.keys} - {key}))
    ] == []


@pytest.mark.parametrize(
    "sql",
    [
        "select model, count(*) as runs from staging.stg_runs group by model",
        "select max(run_id) as newest from staging.stg_runs",
        "select * from marts.a inner join marts.b using (model)",
        "select run_id, lag(rate) over (partition by model order by run_id) as before from marts.a",
    ],
)
def test_what_looks_across_runs_is_found(sql):
    assert list(mixed(sql, OF_ONE_RUN))
    assert not list(mixed(sql, OF_ONE_RUN | {"model"})) or "max" in sql


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
