"""Creates views of prompts, replies and verdicts over the lake's Parquet files.

These texts are stored once, in the lake. The views read the files that the warehouse was built from, and no later
ones. In a DuckDB session, `set variable lake = '/elsewhere'` names the new place of a moved data directory, and
`set variable run = '01J…'` restricts queries to one run, so that other files stay closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from textwrap import indent

import duckdb

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.warehouse.build.materialize import STORAGE, write_comments
from biasgrid.warehouse.build.models import Model
from biasgrid.warehouse.build.sql_quoting import escape_glob, literal, quote
from biasgrid.warehouse.schema_check import declared_schema
from biasgrid.warehouse.schemas import SUPERSEDED, TABLES, UNITS
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake, UnsafeName
from biasgrid.warehouse.storage.verification import list_files, refuse_damaged

ALL = "*"
"""In place of a run id: texts of all runs."""


def fetch_texts(lake: Lake, texts_of: str | None) -> None:
    """Checks the files that the views read; downloads them, if the lake is shared. Raises `LakeDamaged`,
    `StorageTrouble`."""
    if texts_of:
        with suppress(UnsafeName):  # no run has such an id, so there are no files to check
            refuse_damaged(lake, list_files(lake, None if texts_of == ALL else texts_of))


def allow_texts(lake: Lake) -> str:
    """The DuckDB setting that allows reading these files."""
    # DuckDB compares a file's name both as given, with patterns escaped, and as it is
    places = ", ".join(literal(f"{root}/lake") for root in (lake.root, escape_glob(lake.root)))
    return f"allowed_directories = [{places}]"


def session_variables(lake: Lake, texts_of: str | None) -> Iterator[str]:
    """Statements by which views find these files, and read those of one run."""
    yield f"set variable lake = {literal(escape_glob(lake.root))}"
    if texts_of and texts_of != ALL:
        yield f"set variable run = {literal(escape_glob(texts_of))}"


def keep_texts(
    warehouse: duckdb.DuckDBPyConnection, lake: Lake, ordered: Sequence[Model], files: Mapping[str, Sequence[Path]]
) -> None:
    """Redefines models that are views so that they read files without the attached lake. `files`: of each
    relation of the lake."""
    warehouse.execute("set variable run = ''")  # types are declared, so only the first file is opened
    for table in UNITS:
        rows = of_files(table, _list_files(lake, files[table])) if files.get(table) else no_rows(table)
        warehouse.execute(f"create or replace view {STORAGE}.{table} as {rows}")
    for name in EXCEPTIONS:
        _show_exceptions(warehouse, name)
    views = warehouse.execute("select schema_name || '.' || view_name from duckdb_views()").fetchall()
    for model in (model for model in ordered if not model.is_kept and (model.relation,) in views):
        sql = re.sub(r"\blake\.", f"{STORAGE}.", model.sql)
        warehouse.execute(f"create or replace view {model.relation} as {sql}")
    warehouse.execute("reset variable run")
    write_comments(warehouse, ordered, {f"{STORAGE}.{name}": meaning for name, meaning in STORED.items()})


EXCEPTIONS = (SUPERSEDED, *(f"repeated_{table}" for table in UNITS))
"""Relations of the lake with the few rows that views leave out."""


STORED: Mapping[str, str] = {
    **{table: f"What models read of `lake.{table}`: cases, verdicts of benchmarks" for table in UNITS},
    **{f"repeated_{table}": f"What landed twice in `lake.{table}`, by the hash of its unit" for table in UNITS},
    SUPERSEDED: "Verdicts that another one of their evaluation replaces",
    **{f"found_{name}": f"The rows of `{STORAGE}.{name}`, mostly none" for name in EXCEPTIONS},
    "run_marks": "Of each run, a hash of the files that its rows were computed from",
}
"""Relations in the schema `storage` of the finished file."""


def copy_exceptions(warehouse: duckdb.DuckDBPyConnection) -> None:
    """Stores the rows that views leave out."""
    for name in EXCEPTIONS:
        warehouse.execute(f"create table {STORAGE}.found_{name} as from lake.{name}")


def _list_files(lake: Lake, files: Sequence[Path]) -> str:
    """SQL list of files: those of the run that the session names, else all."""
    places = "\n".join(escape_glob(file.relative_to(lake.root).as_posix()) for file in files)
    listed = f"string_split({literal(places)}, chr(10))"
    of_run = f"list_filter({listed}, lambda place: contains(place, '/run_id=' || getvariable('run') || '/'))"
    root = f"coalesce(getvariable('lake'), {literal(escape_glob(lake.root))})"
    # a run without files of this table has no rows in the first file either
    of_one = f"coalesce(nullif({of_run}, []), {listed}[:1])"
    asked = f"case when getvariable('run') is null then {listed} else {of_one} end"
    return f"list_transform({asked}, lambda place: {root} || '/' || place)"


def _show_exceptions(warehouse: duckdb.DuckDBPyConnection, name: str) -> None:
    """Creates the view of such rows, by which DuckDB knows whether there are none, and simplifies queries."""
    stored = f"{STORAGE}.found_{name}"
    has_rows = bool(warehouse.execute(f"from {stored} limit 1").fetchall())
    warehouse.execute(f"create or replace view {STORAGE}.{name} as from {stored} where {has_rows}")


@contextmanager
def reading_texts() -> Iterator[None]:
    """Raises `UserError` if a file has changed since the warehouse was built, or if the warehouse is damaged."""
    try:
        yield
    except duckdb.Error as error:
        if is_damage(error):
            raise LakeDamaged(_describe_damage(error)) from error
        if ".parquet" not in str(error) or isinstance(error, duckdb.PermissionException):
            raise
        raise UserError(
            Problem(
                what=f"a file of the lake cannot be read: {str(error).splitlines()[0]}",
                remedy="the warehouse has no copy of it: put it back, or continue without it "
                "(`biasgrid warehouse build` names what is missing)",
            )
        ) from error


def is_damage(error: duckdb.Error) -> bool:
    """Whether a block of a DuckDB file does not have the bytes that were written, by its checksum."""
    return any(text in str(error).lower() for text in DAMAGE)


DAMAGE = ("corrupt database file", "checksum", "invalidated because of a previous fatal error")
"""Texts of DuckDB's errors about a damaged file."""


def _describe_damage(error: duckdb.Error) -> Problem:
    what = f"the warehouse file is damaged: {str(error).splitlines()[0]}"
    return Problem(what, remedy="its rows are in the lake: `biasgrid warehouse build --full` makes it again")


def column_types(table: str) -> Mapping[str, str]:
    """DuckDB type of each declared column of a lake table."""
    return _declared_types()[table]


@cache
def _declared_types() -> Mapping[str, Mapping[str, str]]:
    with duckdb.connect() as session:
        return {table: _types_of(session, table) for table in TABLES}


def _types_of(session: duckdb.DuckDBPyConnection, table: str) -> Mapping[str, str]:
    rows = session.from_arrow(declared_schema(table).empty_table())
    return dict(zip(rows.columns, map(str, rows.types), strict=True))


def of_files(table: str, files: str, left_out: str | None = None) -> str:
    """A SELECT of the declared columns from Parquet files given by an SQL expression; columns in no file are
    null. `left_out`: SQL expression of files that are not read."""
    columns = (f"    {quote(name)}::{kind} as {quote(name)}" for name, kind in column_types(table).items())
    landed = f"read_parquet({files}, union_by_name = true, hive_partitioning = false)"
    if left_out:
        landed = f"{landed[:-1]}, filename = true)\n    where filename not in {left_out}"
    rows = f"{indent(no_rows(table), '    ')}\n    union all by name\n    from {landed}"
    return "select\n" + ",\n".join(columns) + f"\nfrom (\n{rows}\n)"


def no_rows(table: str) -> str:
    columns = (f"    null::{kind} as {quote(name)}" for name, kind in column_types(table).items())
    return "select\n" + ",\n".join(columns) + "\nwhere false"
