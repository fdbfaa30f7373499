"""Keeps the rows of forgotten runs, whose prompts and replies are gone, as Parquet files of the lake."""

# ruff: noqa: S608 - names from our own models, values escaped

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import duckdb

from biasgrid.warehouse.build.increments import add_rows, of_one_run
from biasgrid.warehouse.build.models import load_models
from biasgrid.warehouse.build.sql_quoting import escape_glob, literal, quote
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.tombstones import folder_of

FREE_TEXTS = ("error_message", "reason")
"""Columns that may quote a reply: null in kept rows."""
INEXACT = ("HUGEINT", "UHUGEINT")
"""Types that DuckDB writes to Parquet as floating-point numbers: kept as text."""


def keep_rows(lake: Lake, run_id: str) -> None:
    """Stores a run's rows of all models of one run, from the last built file. Raises `StorageTrouble`."""
    with duckdb.connect() as warehouse:
        warehouse.execute(f"attach {literal(lake.database)} as biasgrid (read_only); use biasgrid")
        warehouse.execute("set TimeZone = 'UTC'")
        for relation in of_one_run(load_models()):
            rows = f"from {relation} where run_id = {literal(run_id)}"
            if warehouse.execute(f"{rows} limit 1").fetchall():
                selected = f"select {', '.join(_kept_columns(warehouse, relation))} {rows}"
                with lake.landing(folder_of(lake, run_id) / f"{relation}.parquet") as partial:
                    warehouse.execute(
                        f"copy ({selected}) to {literal(partial)} (format parquet, compression zstd)"
                    )


def _kept_columns(warehouse: duckdb.DuckDBPyConnection, relation: str) -> Iterator[str]:
    for name, kind, *_ in warehouse.execute(f"describe {relation}").fetchall():
        if name in FREE_TEXTS:
            yield f"null::varchar as {quote(name)}"
        else:
            yield f"{quote(name)}{'::varchar' if kind in INEXACT else ''} as {quote(name)}"


def add_kept_rows(
    warehouse: duckdb.DuckDBPyConnection, relations: Mapping[str, Sequence[str]], files: Sequence[Path]
) -> None:
    """Inserts the rows of `files` into models of one run, given with the columns that they are sorted by."""
    for relation, order in relations.items():
        own = [file for file in files if file.stem == relation]
        if own:
            warehouse.execute(f"create or replace temp view kept_rows as {_select(warehouse, relation, own)}")
            add_rows(warehouse, relation, order, "kept_rows")


def _select(warehouse: duckdb.DuckDBPyConnection, relation: str, files: Sequence[Path]) -> str:
    """The rows in the columns that the model has now; null where an earlier release kept none."""
    paths = ", ".join(literal(escape_glob(file)) for file in files)
    rows = f"read_parquet([{paths}], union_by_name = true, hive_partitioning = false)"
    kept = {name for name, *_ in warehouse.execute(f"describe from {rows}").fetchall()}
    described = warehouse.execute(f"describe {relation}").fetchall()
    columns = (
        f"{quote(name) if name in kept else 'null'}::{kind} as {quote(name)}" for name, kind, *_ in described
    )
    return f"select {', '.join(columns)} from {rows}"
