"""How a model becomes a table: marts in the order of their grain, long rows with what they share told once."""

# ruff: noqa: S608 - names from our own YAML

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from warehouse.sql_models import Model
from warehouse.sql_words import quoted

STORAGE = "storage"
"""Schema of the tables beneath those models that are views."""


def make(warehouse: duckdb.DuckDBPyConnection, model: Model) -> None:
    """Builds a model's table, or where its rows share columns, two tables and a view that joins them."""
    if model.about.shared and _make_joined(warehouse, model):
        return
    # the same lake makes the same marts, row by row
    order = f" order by {_listed(model.about.grain)}" if model.schema == "marts" else ""
    warehouse.execute(f"create table {model.relation} as from ({model.sql}){order}")


def _make_joined(warehouse: duckdb.DuckDBPyConnection, model: Model) -> bool:
    """Texts that thousands of rows have in common take longer to write with each of them than everything else.

    False, and nothing made, where two of the shared rows have one hash: they could not be told apart.
    """
    shared, rows = f"{STORAGE}.{model.name}_shared", f"{STORAGE}.{model.name}"
    own = [column for column in model.about.columns if column not in model.about.shared]
    source = model.about.shared_from or f"({model.sql})"
    parts = f"hash({_listed(model.about.shared)}) as part"
    warehouse.execute(
        f"create table {shared} as select distinct {parts}, {_listed(model.about.shared)} from {source}"
    )
    if _truth(warehouse, f"select count(*) > count(distinct part) from {shared}"):
        warehouse.execute(f"drop table {shared}")
        return False
    warehouse.execute(f"create table {rows} as select {parts}, {_listed(own)} from ({model.sql})")
    joined = f"select {_listed(model.about.columns)} from {rows} inner join {shared} using (part)"
    warehouse.execute(f"create view {model.relation} as {joined}")
    return True


def _truth(warehouse: duckdb.DuckDBPyConnection, question: str) -> bool:
    return bool(warehouse.execute(question).fetchall()[0][0])


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(map(quoted, columns))
