"""Materialises models as tables: marts sorted by grain, shared columns stored once, duplicates removed by unit."""

# ruff: noqa: S608 - names from our own YAML and schemas

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import duckdb

from biasgrid.warehouse.build.attach_lake import empty_relations
from biasgrid.warehouse.build.models import Model, Shared
from biasgrid.warehouse.build.sql_quoting import quote, quote_all
from biasgrid.warehouse.schemas import UNITS

STORAGE = "storage"
"""Schema of the tables that views of models read."""

FEW = 50_000
"""Number of cases below which shared columns are not stored separately."""


@dataclass(frozen=True, slots=True)
class Part:
    """A table with some of a model's columns."""

    relation: str
    columns: Collection[str]
    key: str = ""
    """The join column for the model's rows; empty for the table of the rows themselves."""
    rows: int | None = 0
    """None: not counted."""


def make(warehouse: duckdb.DuckDBPyConnection, model: Model) -> tuple[Part, ...]:
    """Builds a model as a table, as a view, or as tables with a view that joins shared columns; returns the
    tables."""
    if model.is_view:
        warehouse.execute(f"create view {model.relation} as {model.sql}")
        return (Part(model.relation, model.about.columns, rows=None),)
    if not model.is_kept:
        return (_in_memory(warehouse, model),)
    dictionaries = list(_dictionaries(warehouse, model))
    shared = {column for dictionary in dictionaries for column in dictionary.columns}
    own = [column for column in model.about.columns if column not in shared]
    # the same lake yields the same marts, in the same order
    order = f" order by {quote_all(model.about.grain)}" if model.schema == "marts" else ""
    if not dictionaries:
        made = _create_table(warehouse, model.relation, f"from ({model.sql}){order}")
        return (Part(model.relation, own, rows=made),)
    rows = f"{STORAGE}.{model.name}"
    keys = [_key(dictionary.columns, dictionary.key) for dictionary in dictionaries]
    selected = ", ".join([*keys, *map(quote, own)])
    made = _create_table(warehouse, rows, f"select {selected} from ({model.sql}){order}")
    joins = " ".join(f"inner join {part.relation} using ({part.key})" for part in dictionaries)
    warehouse.execute(
        f"create view {model.relation} as select {quote_all(model.about.columns)} from {rows} {joins}"
    )
    return (Part(rows, own, rows=made), *dictionaries)


def _in_memory(warehouse: duckdb.DuckDBPyConnection, model: Model) -> Part:
    """The model as a table in memory: compressing millions of rows takes as long as computing them."""
    table = f"lake.made_{model.name}"
    made = _create_table(warehouse, table, f"from ({model.sql})")
    warehouse.execute(f"create view {model.relation} as from {table}")
    return Part(table, model.about.columns, rows=made)


def _create_table(warehouse: duckdb.DuckDBPyConnection, table: str, rows: str) -> int:
    """Creates a table and returns its number of rows."""
    return int(warehouse.execute(f"create table {table} as {rows}").fetchall()[0][0])


def lay_out(warehouse: duckdb.DuckDBPyConnection, model: Model) -> Part:
    """Creates a model's empty table from its YAML: faster than running its SELECT on a small lake."""
    columns = ", ".join(f"{quote(name)} {column.type}" for name, column in model.about.columns.items())
    warehouse.execute(f"create table {model.relation} ({columns})")
    return Part(model.relation, model.about.columns)


def unmake(warehouse: duckdb.DuckDBPyConnection, model: Model, parts: Sequence[Part]) -> None:
    """Removes what `make` created."""
    if not model.is_kept or len(parts) > 1:
        warehouse.execute(f"drop view {model.relation}")
    for part in () if model.is_view else parts:
        warehouse.execute(f"drop table {part.relation}")


def _dictionaries(warehouse: duckdb.DuckDBPyConnection, model: Model) -> Iterator[Part]:
    if model.about.shared and _is_small(warehouse):
        return
    for number, shared in enumerate(model.about.shared):
        part = Part(f"{STORAGE}.{model.name}_shared_{number}", shared.columns, f"shared_{number}")
        if _dictionary(warehouse, shared, part):
            yield part


def _is_small(warehouse: duckdb.DuckDBPyConnection) -> bool:
    (cases,) = warehouse.execute(f"select count(*) from (from lake.cases limit {FEW})").fetchall()[0]
    return bool(cases < FEW)


def _dictionary(warehouse: duckdb.DuckDBPyConnection, shared: Shared, part: Part) -> bool:
    """Creates a table of shared texts; False, without a table, if two different texts have the same hash."""
    distinct = f"select distinct {quote_all(shared.columns)} from {shared.source}"
    warehouse.execute(
        f"create table {part.relation} as select {_key(shared.columns, part.key)}, * from ({distinct})"
    )
    ambiguous = f"select count(*) > count(distinct {part.key}) from {part.relation}"
    if is_ambiguous := bool(warehouse.execute(ambiguous).fetchall()[0][0]):
        warehouse.execute(f"drop table {part.relation}")
    return not is_ambiguous


def _key(columns: Iterable[str], name: str) -> str:
    return f"hash({quote_all(columns)}) as {name}"


@dataclass(frozen=True, slots=True)
class Made:
    """The tables of a model. `is_once`: its grain is known to be unique. `is_empty`: it can have no rows."""

    parts: tuple[Part, ...]
    is_once: bool
    is_empty: bool = False

    @property
    def has_no_rows(self) -> bool:
        return bool(self.parts) and self.parts[0].rows == 0


def make_models(warehouse: duckdb.DuckDBPyConnection, ordered: Iterable[Model]) -> Iterator[tuple[Model, Made]]:
    """Materialises models, which must be in dependency order."""
    empty = set(empty_relations(warehouse))
    for model in ordered:
        made = _empty(warehouse, model) if model.about.rows_of in empty else _made_once(warehouse, model)
        if made.has_no_rows:
            empty.add(model.relation)
        yield model, made


def _empty(warehouse: duckdb.DuckDBPyConnection, model: Model) -> Made:
    return Made((lay_out(warehouse, model),), is_once=True, is_empty=True)


def _made_once(warehouse: duckdb.DuckDBPyConnection, model: Model) -> Made:
    """Materialises a model with each unit once; `lake.repeated_<table>` then lists the repeated units."""
    parts = make(warehouse, model)
    if not model.about.unit:
        return Made(parts, is_once=False)
    if not _has_repeats(warehouse, model, parts):
        return Made(parts, is_once=model.about.unit_is_grain)
    find_repeats(warehouse, model.about.unit_of)
    unmake(warehouse, model, parts)
    return Made(make(warehouse, model), is_once=False)


def _has_repeats(warehouse: duckdb.DuckDBPyConnection, model: Model, parts: Sequence[Part]) -> bool:
    unit = quote(model.about.unit)
    repeated = f"select count({unit}) > count(distinct {unit}) from {parts[0].relation}"
    return any(
        warehouse.execute(f"{repeated} where {doubted}").fetchall()[0][0] for doubted in model.about.unit_doubted
    )


def declare_no_repeats(warehouse: duckdb.DuckDBPyConnection) -> None:
    """Creates empty views `lake.repeated_<table>`. Views, because DuckDB knows they are empty and simplifies
    queries."""
    for table in UNITS:
        warehouse.execute(f"create view lake.repeated_{table} as select null::ubigint as unit where false")


def find_repeats(warehouse: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> None:
    """Fills `lake.repeated_<table>` for each of the tables."""
    for table in tables:
        unit = f"hash({', '.join(UNITS[table])})"
        repeated = f"select {unit} as unit from lake.{table} group by unit having count(*) > 1"
        warehouse.execute(f"create or replace table lake.found_{table} as {repeated}")
        warehouse.execute(f"create or replace view lake.repeated_{table} as from lake.found_{table}")
