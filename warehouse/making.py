"""How a model becomes a table: marts in the order of their grain, long rows with what they share told once."""

# ruff: noqa: S608 - names from our own YAML

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import duckdb

from warehouse.sql_models import Model, Shared
from warehouse.sql_words import quoted

STORAGE = "storage"
"""Schema of the tables beneath those models that are views."""

FEW = 50_000
"""Cases below which a lake is sooner written as it is."""

WORTH = 2
"""Rows to a shared row, at least, in the mean: what occurs once is no shorter for being told apart."""


@dataclass(frozen=True, slots=True)
class Part:
    """A table in which some of a model's columns lie."""

    relation: str
    columns: Collection[str]
    key: str = ""
    """The column by which the model's rows find theirs; the rows themselves have none."""
    rows: int = 0


def make(warehouse: duckdb.DuckDBPyConnection, model: Model) -> tuple[Part, ...]:
    """Builds a model's table, or where its rows share columns, tables and a view that joins them; says which."""
    dictionaries = list(_dictionaries(warehouse, model))
    told = {column for dictionary in dictionaries for column in dictionary.columns}
    own = [column for column in model.about.columns if column not in told]
    # the same lake makes the same marts, row by row
    order = f" order by {_listed(model.about.grain)}" if model.schema == "marts" else ""
    if not dictionaries:
        made = _created(warehouse, model.relation, f"from ({model.sql}){order}")
        return (Part(model.relation, own, rows=made),)
    rows = f"{STORAGE}.{model.name}"
    keys = [_key(dictionary.columns, dictionary.key) for dictionary in dictionaries]
    selected = ", ".join([*keys, *map(quoted, own)])
    made = _created(warehouse, rows, f"select {selected} from ({model.sql}){order}")
    joins = " ".join(f"inner join {part.relation} using ({part.key})" for part in dictionaries)
    warehouse.execute(f"create view {model.relation} as select {_listed(model.about.columns)} from {rows} {joins}")
    return (Part(rows, own, rows=made), *dictionaries)


def _created(warehouse: duckdb.DuckDBPyConnection, table: str, rows: str) -> int:
    """How many rows the new table has."""
    return int(warehouse.execute(f"create table {table} as {rows}").fetchall()[0][0])


def lay_out(warehouse: duckdb.DuckDBPyConnection, model: Model) -> Part:
    """Builds a model's table without rows as its YAML describes it: to read a SELECT and the macros that it calls
    takes longer than to run it on a small lake, and most runs are of one kind."""
    columns = ", ".join(f"{quoted(name)} {column.type}" for name, column in model.about.columns.items())
    warehouse.execute(f"create table {model.relation} ({columns})")
    return Part(model.relation, model.about.columns)


def unmake(warehouse: duckdb.DuckDBPyConnection, model: Model, parts: Sequence[Part]) -> None:
    """Takes away what `make` made."""
    if len(parts) > 1:
        warehouse.execute(f"drop view {model.relation}")
    for part in parts:
        warehouse.execute(f"drop table {part.relation}")


def _dictionaries(warehouse: duckdb.DuckDBPyConnection, model: Model) -> Iterator[Part]:
    if model.about.shared and _is_small(warehouse):
        return
    for number, shared in enumerate(model.about.shared):
        part = Part(f"{STORAGE}.{model.name}_shared_{number}", shared.columns, f"shared_{number}")
        if _dictionary(warehouse, model, shared, part):
            yield part


def _is_small(warehouse: duckdb.DuckDBPyConnection) -> bool:
    (cases,) = warehouse.execute(f"select count(*) from (from lake.cases limit {FEW})").fetchall()[0]
    return bool(cases < FEW)


def _dictionary(warehouse: duckdb.DuckDBPyConnection, model: Model, shared: Shared, part: Part) -> bool:
    """Texts that thousands of rows have in common take longer to write with each of them than everything else.

    False, and nothing made, where hardly any rows have them in common, or where two of them have one hash: they
    could not be told apart.
    """
    told = f"select distinct {_listed(shared.columns)} from {_told_once(warehouse, model, shared)}"
    warehouse.execute(f"create table {part.relation} as select {_key(shared.columns, part.key)}, * from ({told})")
    ambiguous = f"count(*) > count(distinct {part.key})"
    # of a lake's rows it is known how many there are; what other models tell is worth it
    idle = f"count(*) * {WORTH} > (select count(*) from {shared.source})" if _is_landed(shared) else "false"
    is_ambiguous, is_idle = warehouse.execute(f"select {ambiguous}, {idle} from {part.relation}").fetchall()[0]
    if is_ambiguous or is_idle:
        warehouse.execute(f"drop table {part.relation}")
    return not (is_ambiguous or is_idle)


def _is_landed(shared: Shared) -> bool:
    return shared.source.startswith("lake.")


TOLD, ALONE = "lake.told", "lake.alone"


def _told_once(warehouse: duckdb.DuckDBPyConnection, model: Model, shared: Shared) -> str:
    """A relation that has every combination of these columns: the model's rows or, sooner, its SELECT over the
    distinct rows that the source has of them, in which all else is null."""
    if not shared.source:
        return f"({model.sql})"
    described = warehouse.execute(f"describe {shared.source}").fetchall()
    kinds = {name: kind for name, kind, *_ in described}
    given = [name for name in shared.columns if name in kinds]
    warehouse.execute(f"create or replace table {TOLD} as select distinct {_listed(given)} from {shared.source}")
    if len(given) == len(shared.columns):
        return TOLD
    columns = (
        quoted(name) if name in given else f"null::{kind} as {quoted(name)}" for name, kind in kinds.items()
    )
    warehouse.execute(f"create or replace view {ALONE} as select {', '.join(columns)} from {TOLD}")
    return "(" + re.sub(rf"\b{re.escape(shared.source)}\b", ALONE, model.sql) + ")"


def _key(columns: Iterable[str], name: str) -> str:
    return f"hash({_listed(columns)}) as {name}"


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(map(quoted, columns))
