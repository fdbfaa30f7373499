"""The tests of a model, from its YAML: grain, nulls, accepted values, invariants, and its columns themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb

from warehouse.sql_models import Model
from warehouse.sql_words import literal, quoted

SAMPLE_ROWS = 5


class ModelTestFailed(Exception):
    """Rows that a model's YAML rules out: names model and test, and shows some of them."""


@dataclass(frozen=True, slots=True)
class RowTest:
    name: str
    broken: str
    """An SQL condition on a row that breaks it."""


def check(warehouse: duckdb.DuckDBPyConnection, model: Model) -> None:
    """Runs every test of a model that has been built. Raises `ModelTestFailed` at the first that fails."""
    _check_columns(warehouse, model)
    _check_grain(warehouse, model)
    _check_rows(warehouse, model)


def row_tests(model: Model) -> Iterator[RowTest]:
    """What the model's YAML rules out in a row."""
    for name, column in model.about.columns.items():
        if column.not_null:
            yield RowTest(f"{name} is not null", f"{quoted(name)} is null")
        if column.accepted:
            values = ", ".join(map(literal, column.accepted))
            yield RowTest(f"{name} is one of {values}", f"{quoted(name)} not in ({values})")
    for sentence, expression in model.about.invariants.items():
        yield RowTest(sentence, f"({expression}) is not true")


def _check_columns(warehouse: duckdb.DuckDBPyConnection, model: Model) -> None:
    built = [row[0] for row in warehouse.execute(f"describe {model.relation}").fetchall()]
    if built != list(model.about.columns):
        raise ModelTestFailed(
            f"{model.relation}: its columns are {', '.join(built)}; "
            f"its YAML describes {', '.join(model.about.columns)}"
        )


def _check_grain(warehouse: duckdb.DuckDBPyConnection, model: Model) -> None:
    grain = ", ".join(map(quoted, model.about.grain))
    # no two rows of one grain where no two hashes are the same: millions of numbers compare sooner than texts
    hashes = f"select count(*) > count(distinct hash({grain})) from {model.relation}"  # noqa: S608 - our own YAML
    if not warehouse.execute(hashes).fetchall()[0][0]:
        return
    repeated = f"select {grain}, count(*) as rows from {model.relation} group by all having count(*) > 1"  # noqa: S608
    _refuse(model, f"one row per {grain}", _some(warehouse, repeated))


def _check_rows(warehouse: duckdb.DuckDBPyConnection, model: Model) -> None:
    """All tests in one look at the rows: on millions of them each further one would cost as much."""
    tests = list(row_tests(model))
    if not tests:
        return
    cases = " ".join(f"when {test.broken} then {number}" for number, test in enumerate(tests))
    marked = f"select *, case {cases} end as {BROKEN} from {model.relation}"  # noqa: S608 - our own YAML
    rows = _some(warehouse, f"from ({marked}) where {BROKEN} is not null")
    if rows:
        first = rows[0]["broken test"]
        shown = [{name: row[name] for name in model.about.columns} for row in rows if row["broken test"] == first]
        _refuse(model, tests[first].name, shown)


BROKEN = '"broken test"'


def _some(warehouse: duckdb.DuckDBPyConnection, offenders: str) -> list[dict[str, Any]]:
    found = warehouse.execute(f"{offenders} limit {SAMPLE_ROWS}")
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _refuse(model: Model, test: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        listed = "\n".join(f"    {_shortened(row)}" for row in rows)
        raise ModelTestFailed(f"{model.relation}: `{test}` does not hold, for instance in\n{listed}")


def _shortened(row: dict[str, object]) -> str:
    return ", ".join(f"{name}={value!r:.60}" for name, value in row.items() if value is not None)
