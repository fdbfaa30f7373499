"""The tests of a model, from its YAML: grain, nulls, accepted values, invariants, and its columns themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb

from warehouse.sql_models import Model

SAMPLE_ROWS = 5


class ModelTestFailed(Exception):
    """Rows that a model's YAML rules out: names model and test, and shows some of them."""


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    offenders: str
    """A SELECT of the rows that break it."""


def check(warehouse: duckdb.DuckDBPyConnection, model: Model) -> None:
    """Runs every test of a model that has been built. Raises `ModelTestFailed` at the first that fails."""
    _check_columns(warehouse, model)
    for test in checks(model):
        found = warehouse.execute(f"{test.offenders} limit {SAMPLE_ROWS}")
        names = [column[0] for column in found.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        if rows:
            listed = "\n".join(f"    {_shortened(row)}" for row in rows)
            raise ModelTestFailed(f"{model.relation}: `{test.name}` does not hold, for instance in\n{listed}")


def checks(model: Model) -> Iterator[Check]:
    """The tests that a model's YAML declares, as SELECTs of offending rows."""
    grain = ", ".join(map(_quoted, model.about.grain))
    repeated = f"select {grain}, count(*) as rows from {model.relation} group by all having count(*) > 1"  # noqa: S608
    yield Check(f"one row per {grain}", repeated)
    for name, column in model.about.columns.items():
        if column.not_null:
            yield _where(model, f"{name} is not null", f"{_quoted(name)} is null")
        if column.accepted:
            values = ", ".join(map(_literal, column.accepted))
            yield _where(model, f"{name} is one of {values}", f"{_quoted(name)} not in ({values})")
    for sentence, expression in model.about.invariants.items():
        yield _where(model, sentence, f"({expression}) is not true")


def _check_columns(warehouse: duckdb.DuckDBPyConnection, model: Model) -> None:
    built = [row[0] for row in warehouse.execute(f"describe {model.relation}").fetchall()]
    if built != list(model.about.columns):
        raise ModelTestFailed(
            f"{model.relation}: its columns are {', '.join(built)}; "
            f"its YAML describes {', '.join(model.about.columns)}"
        )


def _where(model: Model, name: str, condition: str) -> Check:
    return Check(name, f"select * from {model.relation} where {condition}")  # noqa: S608 - our own YAML


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _shortened(row: dict[str, object]) -> str:
    return ", ".join(f"{name}={value!r:.60}" for name, value in row.items() if value is not None)
