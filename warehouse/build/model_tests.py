"""Tests built models by their YAML: grain, nulls, accepted values, invariants and columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from biasgrid.catalogs.errors import Problem
from biasgrid.warehouse.build.materialize import Made
from biasgrid.warehouse.build.models import Model
from biasgrid.warehouse.build.sql_quoting import literal, quote, quote_all
from biasgrid.warehouse.storage.errors import OldWarehouseStays

SAMPLE_ROWS = 5


class ModelTestFailed(OldWarehouseStays):
    """Rows violate a model's YAML: names the model and the test, and shows example rows. Exit code 3."""

    headline = "a test of a model does not hold"

    def __init__(self, what: str) -> None:
        remedy = "`biasgrid warehouse verify` finds damaged files; without any, please report it with these lines"
        super().__init__(Problem(what, remedy=remedy))
        self.args = (what,)


@dataclass(frozen=True, slots=True)
class RowTest:
    name: str
    broken: str
    """SQL condition that a violating row meets."""


def check(warehouse: duckdb.DuckDBPyConnection, model: Model, made: Made) -> None:
    """Runs all tests of a built model. Raises `ModelTestFailed` at the first failure."""
    if made.is_empty:
        return
    _check_columns(warehouse, model)
    if made.rows == 0 or _all_tests_pass(warehouse, model, made):
        return
    if _has_own_grain(model, made):
        _check_grain(warehouse, model)
    _check_rows(warehouse, model)


def row_tests(model: Model) -> Iterator[RowTest]:
    """Row-level tests from the model's YAML."""
    for name, column in model.about.columns.items():
        if column.not_null:
            yield RowTest(f"{name} is not null", f"{quote(name)} is null")
        if column.accepted:
            values = ", ".join(map(literal, column.accepted))
            yield RowTest(f"{name} is one of {values}", f"{quote(name)} not in ({values})")
    for sentence, expression in model.about.invariants.items():
        yield RowTest(sentence, f"({expression}) is not true")


def _check_columns(warehouse: duckdb.DuckDBPyConnection, model: Model) -> None:
    built = {name: kind.lower() for name, kind, *_ in warehouse.execute(f"describe {model.relation}").fetchall()}
    described = {name: column.type or built.get(name, "") for name, column in model.about.columns.items()}
    if list(built.items()) != list(described.items()):
        raise ModelTestFailed(
            f"{model.relation}: its columns are {_list_types(built)}; its YAML describes {_list_types(described)}"
        )


def _list_types(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}".strip() for name, kind in columns.items())


def _all_tests_pass(warehouse: duckdb.DuckDBPyConnection, model: Model, made: Made) -> bool:
    """Runs all tests of a model as one query."""
    broken = " or ".join(f"({test.broken})" for test in row_tests(model)) or "false"
    grain = model.about.grain if _has_own_grain(model, made) else ()
    if model.is_view:
        # file statistics let DuckDB skip most of the files if nothing else is queried
        found = warehouse.execute(f"select 1 from {model.relation} where {broken} limit 1").fetchall()  # noqa: S608 - our own YAML
        return not found and (not grain or _is_unique(warehouse, grain, model.relation))
    sound = f"{_apart(grain) if grain else 'true'} and not coalesce(bool_or({broken}), false)"
    return bool(warehouse.execute(f"select {sound} from {model.relation}").fetchall()[0][0])  # noqa: S608 - our own YAML


def _has_own_grain(model: Model, made: Made) -> bool:
    """Whether its grain must be tested. A view without a unit has the grain of a table that is built from it."""
    return not made.is_once and (not model.is_view or bool(model.about.unit))


def _check_grain(warehouse: duckdb.DuckDBPyConnection, model: Model) -> None:
    if _is_unique(warehouse, model.about.grain, model.relation):
        return
    grain = quote_all(model.about.grain)
    repeated = f"select {grain}, count(*) as rows from {model.relation} group by all having count(*) > 1"  # noqa: S608
    _refuse(model, f"one row per {grain}", _some(warehouse, repeated))


def _is_unique(warehouse: duckdb.DuckDBPyConnection, columns: Iterable[str], relation: str) -> bool:
    return bool(warehouse.execute(f"select {_apart(columns)} from {relation}").fetchall()[0][0])  # noqa: S608 - our own YAML


def _apart(columns: Iterable[str]) -> str:
    """Test of uniqueness by hash: comparing millions of numbers is faster than comparing texts."""
    return f"count(*) = count(distinct hash({quote_all(columns)}))"


def _check_rows(warehouse: duckdb.DuckDBPyConnection, model: Model) -> None:
    """Runs all row tests in one scan."""
    tests = list(row_tests(model))
    cases = " ".join(f"when {test.broken} then {number}" for number, test in enumerate(tests))
    marked = f"select *, case {cases} end as {BROKEN} from {model.relation}"  # noqa: S608 - our own YAML
    rows = _some(warehouse, f"from ({marked}) where {BROKEN} is not null") if tests else []
    if rows:
        first = rows[0]["broken test"]
        broken = [row for row in rows if row["broken test"] == first]
        shown = [{name: row[name] for name in model.about.columns if name in row} for row in broken]
        _refuse(model, tests[first].name, shown)


BROKEN = '"broken test"'


def _some(warehouse: duckdb.DuckDBPyConnection, offenders: str) -> list[dict[str, Any]]:
    # by Arrow: DuckDB itself needs pytz to turn times with a zone into Python's
    rows: list[dict[str, Any]] = warehouse.sql(f"{offenders} limit {SAMPLE_ROWS}").to_arrow_table().to_pylist()
    return rows


def _refuse(model: Model, test: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        shown = ([f"{name}={value!r:.60}" for name, value in row.items() if value is not None] for row in rows)
        listed = "\n".join(f"    {', '.join(values)}" for values in shown)
        raise ModelTestFailed(f"{model.relation}: `{test}` does not hold, for instance in\n{listed}")
