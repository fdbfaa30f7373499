"""Rows that a kill landed twice. They are rare and dear to look for: a model is built as though there were none,
and again where its own rows tell otherwise."""

# ruff: noqa: S608 - names from our own YAML and schemas

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import duckdb

from biasgrid.warehouse.build.attach_lake import without_rows
from biasgrid.warehouse.build.integrity_rules import UNSETTLED
from biasgrid.warehouse.build.materialize import Part, lay_out, make, unmake
from biasgrid.warehouse.build.models import Model
from biasgrid.warehouse.build.sql_quoting import quoted
from biasgrid.warehouse.schemas import UNITS


@dataclass(frozen=True, slots=True)
class Made:
    """The tables that a model lies in. `is_once`: its rows have been shown to be of one grain each. `is_empty`: it
    has none, nor can it have any."""

    parts: tuple[Part, ...]
    is_once: bool
    is_empty: bool = False

    @property
    def has_no_rows(self) -> bool:
        return bool(self.parts) and self.parts[0].rows == 0


def made_in_turn(warehouse: duckdb.DuckDBPyConnection, ordered: Iterable[Model]) -> Iterator[tuple[Model, Made]]:
    """Makes models that stand each after what it reads."""
    empty = set(without_rows(warehouse))
    for model in ordered:
        made = _empty(warehouse, model) if model.about.rows_of in empty else _made_once(warehouse, model)
        if made.has_no_rows:
            empty.add(model.relation)
        yield model, made


def _empty(warehouse: duckdb.DuckDBPyConnection, model: Model) -> Made:
    return Made((lay_out(warehouse, model),), is_once=True, is_empty=True)


def _made_once(warehouse: duckdb.DuckDBPyConnection, model: Model) -> Made:
    """Makes a model, each unit of it once; `lake.repeated_<table>` then names those that have landed twice."""
    parts = make(warehouse, model)
    if not model.about.unit:
        return Made(parts, is_once=False)
    if not _has_repeats(warehouse, model, parts):
        return Made(parts, is_once=model.about.unit_is_grain)
    look_closer(warehouse, model.about.unit_of)
    unmake(warehouse, model, parts)
    return Made(make(warehouse, model), is_once=False)


def _has_repeats(warehouse: duckdb.DuckDBPyConnection, model: Model, parts: Sequence[Part]) -> bool:
    unit = quoted(model.about.unit)
    repeated = f"select count({unit}) > count(distinct {unit}) from {parts[0].relation}"
    return any(
        warehouse.execute(f"{repeated} where {doubted}").fetchall()[0][0] for doubted in model.about.unit_doubted
    )


def none_yet(warehouse: duckdb.DuckDBPyConnection) -> None:
    """`lake.repeated_<table>` of every table, without rows. Views, not tables: DuckDB sees that there are none,
    and leaves out of a SELECT what would be done about them."""
    for table in UNITS:
        warehouse.execute(f"create view lake.repeated_{table} as select null::ubigint as unit where false")


def settle(warehouse: duckdb.DuckDBPyConnection) -> None:
    """Finds the cells of benchmarks that are `UNSETTLED`: replies of the others are known to have landed once."""
    warehouse.execute(f"create table lake.found_unsettled as {UNSETTLED}")
    warehouse.execute("create or replace view lake.unsettled as from lake.found_unsettled")


def look_closer(warehouse: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> None:
    """Fills `lake.repeated_<table>` for each of these."""
    for table in tables:
        unit = f"hash({', '.join(UNITS[table])})"
        repeated = f"select {unit} as unit from lake.{table} group by unit having count(*) > 1"
        warehouse.execute(f"create or replace table lake.found_{table} as {repeated}")
        warehouse.execute(f"create or replace view lake.repeated_{table} as from lake.found_{table}")
