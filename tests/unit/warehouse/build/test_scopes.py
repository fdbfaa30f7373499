"""Models of one run keep runs apart: each of their joins, groups and windows goes by the run."""

from collections.abc import Iterator

import pytest
import sqlglot
from sqlglot import exp

from biasgrid.warehouse.build.models import load_models

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
