"""Materialises models as tables: marts sorted by grain, duplicates removed by unit."""

# ruff: noqa: S608 - names from our own YAML and schemas

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import duckdb

from biasgrid.warehouse.build.models import Model
from biasgrid.warehouse.build.sql_quoting import literal, quote, quote_all
from biasgrid.warehouse.schemas import UNITS

STORAGE = "storage"
"""Schema of the tables that views of models read."""


@dataclass(frozen=True, slots=True)
class Made:
    """What came of a model."""

    rows: int | None
    """None: not counted."""
    is_once: bool = False
    """Whether its grain is known to be unique."""
    is_empty: bool = False
    """Whether it can have no rows."""


def make(warehouse: duckdb.DuckDBPyConnection, model: Model) -> Made:
    """Builds a model as a table or as a view."""
    if model.is_view:
        warehouse.execute(f"create view {model.relation} as {model.sql}")
        return Made(rows=None)
    if not model.is_kept:
        return Made(rows=_in_memory(warehouse, model))
    # the same lake yields the same marts, in the same order
    order = f" order by {quote_all(model.about.grain)}" if model.schema == "marts" else ""
    return Made(rows=_create_table(warehouse, model.relation, f"from ({model.sql}){order}"))


def _in_memory(warehouse: duckdb.DuckDBPyConnection, model: Model) -> int:
    """The model as a table in memory: compressing millions of rows takes as long as computing them."""
    table = f"lake.made_{model.name}"
    made = _create_table(warehouse, table, f"from ({model.sql})")
    warehouse.execute(f"create view {model.relation} as from {table}")
    return made


def _create_table(warehouse: duckdb.DuckDBPyConnection, table: str, rows: str) -> int:
    """Creates a table and returns its number of rows."""
    return int(warehouse.execute(f"create table {table} as {rows}").fetchall()[0][0])


def lay_out(warehouse: duckdb.DuckDBPyConnection, model: Model) -> Made:
    """Creates a model's empty table from its YAML: faster than running its SELECT on a small lake."""
    columns = ", ".join(f"{quote(name)} {column.type}" for name, column in model.about.columns.items())
    kept = f"table {model.relation} ({columns})"
    warehouse.execute(f"create {kept if model.is_kept else f'view {model.relation} as {model.sql}'}")
    return Made(rows=0, is_once=True, is_empty=True)


def unmake(warehouse: duckdb.DuckDBPyConnection, model: Model) -> None:
    """Removes what `make` created."""
    warehouse.execute(f"drop {'table' if model.is_kept else 'view'} {model.relation}")
    if not (model.is_view or model.is_kept):
        warehouse.execute(f"drop table lake.made_{model.name}")


def make_models(
    warehouse: duckdb.DuckDBPyConnection, ordered: Iterable[Model], without_rows: Iterable[str] = ()
) -> Iterator[tuple[Model, Made]]:
    """Materialises models, which must be in dependency order. `without_rows`: relations known to be empty."""
    empty = set(without_rows)
    for model in ordered:
        made = lay_out(warehouse, model) if model.about.rows_of in empty else _made_once(warehouse, model)
        if made.rows == 0:
            empty.add(model.relation)
        yield model, made


def _made_once(warehouse: duckdb.DuckDBPyConnection, model: Model) -> Made:
    """Materialises a model with each unit once; `lake.repeated_<table>` then lists the repeated units."""
    made = make(warehouse, model)
    if not model.about.unit:
        return made
    if not _has_repeats(warehouse, model):
        return replace(made, is_once=model.about.unit_is_grain)
    find_repeats(warehouse, model.about.unit_of)
    unmake(warehouse, model)
    return make(warehouse, model)


def _has_repeats(warehouse: duckdb.DuckDBPyConnection, model: Model) -> bool:
    unit = quote(model.about.unit)
    repeated = f"select count({unit}) > count(distinct {unit}) from {model.relation}"
    return any(
        warehouse.execute(f"{repeated} where {doubted}").fetchall()[0][0] for doubted in model.about.unit_doubted
    )


def declare_no_repeats(warehouse: duckdb.DuckDBPyConnection) -> None:
    """Creates empty views `lake.repeated_<table>`. Views, because DuckDB knows they are empty and simplifies
    queries."""
    for table in UNITS:
        no_rows = "select null::varchar as run_id, null::ubigint as unit where false"
        warehouse.execute(f"create view lake.repeated_{table} as {no_rows}")


def find_repeats(warehouse: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> None:
    """Fills `lake.repeated_<table>` for each of the tables."""
    for table in tables:
        unit = f"hash({', '.join(UNITS[table])})"
        repeated = f"select run_id, {unit} as unit from lake.{table} group by all having count(*) > 1"
        warehouse.execute(f"create or replace table lake.found_{table} as {repeated}")
        warehouse.execute(f"create or replace view lake.repeated_{table} as from lake.found_{table}")


WITHOUT_COMMENT = """
    select schema_name || '.' || table_name, 'table'
    from duckdb_tables() where database_name = current_database() and comment is null
    union all
    select schema_name || '.' || view_name, 'view'
    from duckdb_views() where database_name = current_database() and not internal and comment is null
"""


def write_comments(
    warehouse: duckdb.DuckDBPyConnection, ordered: Iterable[Model], others: Mapping[str, str]
) -> None:
    """Comments on relations that have none yet and on their columns, by the models' YAML and `others`."""
    kinds = dict(warehouse.execute(WITHOUT_COMMENT).fetchall())
    known = [(model.relation, model.about.description, model.about.columns) for model in ordered]
    statements = ["begin"]
    for relation, meaning, columns in (*known, *((name, meaning, {}) for name, meaning in others.items())):
        if kind := kinds.get(relation):
            statements.append(f"comment on {kind} {relation} is {literal(meaning)}")
            of_column = f"comment on column {relation}"
            statements += [
                f"{of_column}.{quote(name)} is {literal(column.description)}" for name, column in columns.items()
            ]
    warehouse.execute(";".join([*statements, "commit"]))
