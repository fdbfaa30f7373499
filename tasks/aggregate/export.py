"""Exports a model of the warehouse as CSV, JSON lines or Parquet, batch by batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from biasgrid.catalogs.errors import Problem, UserError, close_names
from biasgrid.warehouse.build.build import connect, fetch_rows
from biasgrid.warehouse.build.text_views import ALL, reading_texts
from biasgrid.warehouse.storage.atomic_file import replace_atomically
from biasgrid.warehouse.storage.errors import FORBIDDEN, StorageTrouble, storing
from biasgrid.warehouse.storage.export_files import csv_header, csv_rows
from biasgrid.warehouse.storage.lake import Lake

SCHEMAS = ("marts.", "intermediate.", "intermediate.int_", "staging.", "staging.stg_")
Kind = Literal["csv", "parquet", "json"]
SUFFIX: dict[Kind, str] = {"csv": "csv", "parquet": "parquet", "json": "jsonl"}
AT_ONCE = 50_000
"""Rows held in memory at once."""


def write_model(lake: Lake, name: str, kind: Kind, out: Path, run_id: str | None = None) -> int:
    """Writes a model, of one run or of all, and returns how many rows.

    `csv`: text that a spreadsheet would run has a quote before it, nested values are JSON text. `json`: one object
    a line, decimals as numbers. Marts are ordered by their columns, others stay as they are. Raises
    UserError for an unknown model, one without runs, or a file that cannot be written.
    """
    with connect(lake, texts_of=run_id or ALL) as warehouse, reading_texts():
        relation = resolve(warehouse, name)
        rows = warehouse.sql(_select(warehouse, relation, run_id), params=[run_id] if run_id else [])
        reader = rows.to_arrow_reader(AT_ONCE)
        try:
            with storing(out), replace_atomically(out) as partial:
                return WRITERS[kind](partial, reader)
        except OSError as error:
            raise UserError(_unwritable(out, error.strerror or str(error))) from error
        except StorageTrouble as trouble:
            if trouble.code not in FORBIDDEN:
                raise
            raise UserError(_unwritable(out, os.strerror(trouble.code))) from trouble


def resolve(warehouse: duckdb.DuckDBPyConnection, name: str) -> str:
    """The model's `schema.name`, for a name with or without its schema; raises UserError if it is unknown."""
    known = list(fetch_rows(warehouse, MODELS)["relation"])
    for relation in (name, *(f"{schema}{name}" for schema in SCHEMAS)):
        if relation in known:
            return relation
    spelled = {relation.partition(".")[2]: relation for relation in known}
    close = close_names(name, [*known, *spelled], meaning=spelled)
    marts = [relation for relation in known if relation.startswith("marts.")]
    remedy = f"did you mean {_list_names(close)}?" if close else f"marts: {_list_names(marts)}"
    raise UserError(Problem(f"the warehouse has no model `{name}`", "MART", remedy))


MODELS = """
    select table_schema || '.' || table_name as relation
    from information_schema.tables
    where table_catalog = current_database() and table_schema in ('marts', 'intermediate', 'staging')
    order by all
"""


def _select(warehouse: duckdb.DuckDBPyConnection, relation: str, run_id: str | None) -> str:
    """The rows of a model of the warehouse; its name comes from the warehouse itself."""
    if run_id and "run_id" not in fetch_rows(warehouse, f"from {relation} limit 0").columns:
        remedy = "leave --run out"
        raise UserError(Problem(f"`{relation}` does not distinguish runs", "--run", remedy))
    asked = f"select * from {relation}"  # noqa: S608 - see above
    ordered = " order by all" if relation.startswith("marts.") else ""
    return f"{asked}{' where run_id = ?' if run_id else ''}{ordered}"


def _write_lines(
    path: Path, reader: pa.RecordBatchReader, as_text: Callable[[pl.DataFrame], str], head: str = ""
) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(head)
        for rows in _frames(reader):
            file.write(as_text(rows))
            count += rows.height
    return count


def _json_lines(rows: pl.DataFrame) -> str:
    return rows.with_columns(pl.selectors.decimal().cast(pl.Float64)).write_ndjson()


def _write_parquet(path: Path, reader: pa.RecordBatchReader) -> int:
    count = 0
    with pq.ParquetWriter(path, reader.schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _frames(reader: pa.RecordBatchReader) -> Iterator[pl.DataFrame]:
    for batch in reader:
        rows = pl.from_arrow(batch)
        assert isinstance(rows, pl.DataFrame)  # noqa: S101 - a batch becomes a frame, never a series
        yield rows


WRITERS: dict[Kind, Callable[[Path, pa.RecordBatchReader], int]] = {
    "csv": lambda path, reader: _write_lines(path, reader, csv_rows, csv_header(reader.schema.names)),
    "json": lambda path, reader: _write_lines(path, reader, _json_lines),
    "parquet": _write_parquet,
}


def _list_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _unwritable(out: Path, why: str) -> Problem:
    return Problem(
        f"`{out}` cannot be written: {why}", "--out", "name a file in a directory that you may write to"
    )
