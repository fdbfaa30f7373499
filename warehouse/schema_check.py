"""Converts rows to a table's declared schema, or rejects them and names the column that does not fit."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.abc import MetaPathFinder
from pathlib import Path

import polars as pl
import pyarrow as pa

import biasgrid
from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.warehouse.schemas import KEYS, SCHEMA_VERSION, TABLES

KEY = "biasgrid.schema"
"""Metadata key of the schema version in every Parquet file; files without it are older than version 1."""


class LakeTooNew(UserError):
    """The lake contains files of a newer biasgrid, which this version cannot interpret."""


def stamp_version(rows: pa.Table) -> pa.Table:
    """`rows` with the schema version in the metadata."""
    return rows.replace_schema_metadata({**(rows.schema.metadata or {}), KEY: str(SCHEMA_VERSION)})


def version_of(file: Path) -> str:
    """Schema version of a Parquet file, `0` for files without one. Unreadable files are reported when they are
    read."""
    with suppress(pl.exceptions.PolarsError, OSError):
        return pl.read_parquet_metadata(file).get(KEY, "0")
    return "0"


def refuse_newer(files: Iterable[Path]) -> None:
    """Raises `LakeTooNew` with the first of `files` that a newer biasgrid has written."""
    for file in files:
        version = version_of(file)
        if not version.isdecimal() or int(version) > SCHEMA_VERSION:
            what = f"a newer biasgrid wrote this, by schema `{version[:20]}`; this one knows {SCHEMA_VERSION}"
            remedy = "use that biasgrid, upgrade this one, or name another data directory"
            raise LakeTooNew(Problem(what, str(file), remedy))


class _NoPandas(MetaPathFinder):
    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _convert_without_pandas() -> None:
    """Spares the command importing pandas, a fifth of a second and 50 MB, which pyarrow tries at its first
    conversion to see whether it was given a frame. `to_pandas` and `from_pandas` import it all the same."""
    if biasgrid.is_command and "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas)
        try:
            pa.array([0])
        finally:
            sys.meta_path.remove(_NoPandas)


_convert_without_pandas()
# Arrow's own pool keeps freed memory per writing thread: a third of a long run's memory
pa.set_memory_pool(pa.system_memory_pool())


class SchemaMismatch(ValueError):
    """Rows do not fit a table: names the table, the column and the type found."""


def conform(table: str, rows: pl.DataFrame | pa.Table) -> pa.Table:
    """`rows` in the declared order and types of `table`; absent columns are null.

    Raises `SchemaMismatch` for an unknown table or column, an incompatible type, a value that does not fit (a
    number too large, digits that would be lost), and a key column that is absent or null.
    """
    schema = declared_schema(table)
    given = rows.to_arrow() if isinstance(rows, pl.DataFrame) else rows
    unknown = [column for column in given.column_names if column not in schema.names]
    if unknown:
        raise SchemaMismatch(f"`{table}` has no column `{unknown[0]}`; it has {', '.join(schema.names)}")
    conformed = fit(table, given)
    for column in KEYS[table]:
        if nulls := conformed[column].null_count:
            raise SchemaMismatch(f"`{table}.{column}` is null in {nulls} of {len(conformed)} rows")
    return stamp_version(conformed)


def fit(table: str, rows: pa.Table) -> pa.Table:
    """`rows` that landed before in the declared order and types: absent columns are null, others left out."""
    schema = declared_schema(table)
    return pa.Table.from_arrays([_column(table, field, rows) for field in schema], schema=schema)


def declared_schema(table: str) -> pa.Schema:
    """The schema of `table`; raises `SchemaMismatch` if there is none."""
    if table not in TABLES:
        raise SchemaMismatch(f"`{table}` is no table of the lake; known: {', '.join(TABLES)}")
    return TABLES[table]


@cache
def polars_schema(table: str) -> pl.Schema:
    """The declared schema of `table` as a Polars schema."""
    frame = pl.from_arrow(declared_schema(table).empty_table())
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table becomes a frame, never a series
    return frame.schema


def in_form(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """The columns of `table` in their order and types; those that `rows` lacks are null."""
    types = polars_schema(table)
    present = (pl.col(name) if name in rows.columns else pl.lit(None).alias(name) for name in types)
    return rows.select(present).cast(types)


def _column(table: str, field: pa.Field, given: pa.Table) -> pa.ChunkedArray | pa.Array:
    if field.name not in given.column_names:
        return pa.nulls(len(given), field.type)
    column = given[field.name]
    if column.type == field.type:
        return column
    if not _same_kind(column.type, field.type):
        raise SchemaMismatch(f"`{table}.{field.name}` is {field.type}, got {column.type}")
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise SchemaMismatch(f"`{table}.{field.name}` is {field.type}: {error}") from error


def _same_kind(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether only the representation differs: Polars' large strings, a narrower integer, a whole number."""
    if pa.types.is_null(given):
        return True
    if pa.types.is_dictionary(given):
        return _same_kind(given.value_type, wanted)
    if _is_list(given) and _is_list(wanted):
        return _same_kind(given.value_type, wanted.value_type)
    if pa.types.is_struct(given) and pa.types.is_struct(wanted):
        return _same_fields(given, wanted)
    if pa.types.is_timestamp(given) and pa.types.is_timestamp(wanted):
        return (given.tz is None) == (wanted.tz is None)
    return any(is_given(given) and is_wanted(wanted) for is_given, is_wanted in _CONVERSIONS)


def _same_fields(given: pa.StructType, wanted: pa.StructType) -> bool:
    if given.names != wanted.names:
        return False
    return all(_same_kind(given[name].type, wanted[name].type) for name in wanted.names)


def _is_text(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _is_list(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list))


_CONVERSIONS = (
    (_is_text, _is_text),
    (pa.types.is_integer, pa.types.is_integer),
    (pa.types.is_integer, pa.types.is_floating),
    (pa.types.is_floating, pa.types.is_floating),
    (pa.types.is_integer, pa.types.is_decimal),
    (pa.types.is_decimal, pa.types.is_decimal),
)
