"""Attaches the lake's files to a build as `lake.<table>`, views in an in-memory database."""

# ruff: noqa: S608 - names from our schemas, paths escaped

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import duckdb
import polars as pl

from biasgrid.warehouse.build.run_scope import Side
from biasgrid.warehouse.build.sql_quoting import escape_glob, literal, quote
from biasgrid.warehouse.build.text_views import column_types
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.schema_check import refuse_newer
from biasgrid.warehouse.schemas import KINDS, OF_KINDS, SHOWN, SUPERSEDED, TABLES
from biasgrid.warehouse.storage.lake import Lake, scan_files
from biasgrid.warehouse.storage.tombstones import FOLDER, find_tombstones, folder_of

SMALL = 256 * 1024
"""Mean file size in bytes below which opening takes as long as reading."""

GATHERED = 64 * 1024 * 1024
"""Bytes of small files that are held in memory; of more, DuckDB opens each file."""

AT_ONCE = 500
"""Number of small files that are read into memory together."""


def attach_lake(
    warehouse: duckdb.DuckDBPyConnection,
    lake: Lake,
    sides: Sequence[Side] = (),
    wanted: Collection[str] | None = None,
    landed: Landed | None = None,
) -> Mapping[str, Sequence[Path]]:
    """Creates views `lake.<table>`, for all tables or for `wanted` and `lake.runs`. Returns the files of each
    view. `landed`: the only files of the lake to be read, by default all of them, or those of `sides`."""
    shown = {name: of for name, of in VIEWS.items() if wanted is None or name in wanted}
    needed = {"runs", *(table for table, _ in shown.values())}
    found = _find_files(lake, sides) if landed is None else {name: [(None, landed[name])] for name in needed}
    warehouse.execute("attach ':memory:' as lake (compress)")
    for table in needed:
        _declare(warehouse, table)
    # a table: the kind of every run is looked up in it, and each run event is a file
    warehouse.execute(f"create table lake.runs as {_rows(warehouse, 'runs', found['runs'])}")
    kinds = dict(warehouse.execute("select run_id, any_value(kind) from lake.runs group by run_id").fetchall())
    for name, (table, kind) in shown.items():
        _show(warehouse, name, table, _of_kind(found[table], kinds, kind))
    if "verdicts" in shown:
        _show_superseded(warehouse)
    if "responses" in shown:
        # all cells, until `find_unsettled` narrows them down
        warehouse.execute("create view lake.unsettled as select distinct run_id, cell_id from lake.responses")
    own = ((name, _of_kind(found[table], kinds, kind)) for name, (table, kind) in shown.items())
    return {name: [file for _, listed in of_kind for file in listed] for name, of_kind in own}


VIEWS: Mapping[str, tuple[str, str | None]] = {
    **{table: (table, None) for table in TABLES if table not in ("runs", *OF_KINDS)},
    **SHOWN,
}
"""Relations that models read besides `lake.runs`: the table, and the kind of runs if restricted to one."""


def _declare(warehouse: duckdb.DuckDBPyConnection, table: str) -> None:
    """Creates `lake.empty_<table>` with the table's columns and types."""
    columns = ", ".join(f"{quote(name)} {kind}" for name, kind in column_types(table).items())
    warehouse.execute(f"create table lake.empty_{table} ({columns})")


Landed = Mapping[str, Sequence[Path]]
"""Files of each table."""

Files = Sequence[tuple[Side | None, Sequence[Path]]]
"""Files of a table, per side if runs are compared."""


def _show(warehouse: duckdb.DuckDBPyConnection, name: str, table: str, files: Files) -> None:
    """Creates `lake.<name>` as a view; without files as an empty table, which DuckDB knows to be empty."""
    kind = "view" if any(found for _, found in files) else "table"
    warehouse.execute(f"create {kind} lake.{name} as {_rows(warehouse, table, files)}")


def _show_superseded(warehouse: duckdb.DuckDBPyConnection) -> None:
    """Creates `lake.superseded_verdicts`. If there are none, DuckDB knows this and removes it from queries."""
    is_none = not warehouse.execute(f"{select_superseded()} limit 1").fetchall()
    warehouse.execute(f"create view lake.{SUPERSEDED} as {select_superseded('false' if is_none else 'true')}")


def select_superseded(condition: str = "true") -> str:
    """The SELECT behind `lake.superseded_verdicts`, for verdicts that meet `condition`."""
    replaced = "select distinct run_id, evaluation_id, supersedes as verdict_id from lake.verdicts"
    return f"{replaced} where supersedes is not null and {condition}"


NOTHING_LANDED = """
    select 'lake.' || table_name
    from duckdb_tables()
    where database_name = 'lake' and estimated_size = 0
"""


def empty_relations(warehouse: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Relations of an attached lake without any file. Opens no file."""
    return frozenset(name for (name,) in warehouse.execute(NOTHING_LANDED).fetchall())


def list_landed(lake: Lake) -> Landed:
    """The files of all tables, and under FOLDER what is kept of forgotten runs, whose other files are left out.
    Verdicts are listed before responses, and responses before cases, so that rows written meanwhile are left out
    consistently."""
    landed = {table: lake.files(table) for table in reversed(TABLES)}
    forgotten = find_tombstones(lake)
    kept = [path for run_id in forgotten for path in sorted(folder_of(lake, run_id).glob("[!.]*"))]
    return {table: [path for path in own if run_of(path) not in forgotten] for table, own in landed.items()} | {
        FOLDER: kept
    }


def _find_files(lake: Lake, sides: Sequence[Side]) -> Mapping[str, Files]:
    if not sides:
        return {table: [(None, files)] for table, files in list_landed(lake).items()}
    return {table: [(side, lake.files(table, side.run_id)) for side in sides] for table in reversed(TABLES)}


def _of_kind(files: Files, kinds: Mapping[str, str | None], kind: str | None) -> Files:
    """The files of runs of `kind`, or all if None; a run without an event counts as a benchmark."""
    if kind is None:
        return files
    return [
        (side, [file for file in own if (kinds.get(side.name if side else run_of(file)) or KINDS[0]) == kind])
        for side, own in files
    ]


def run_of(file: Path) -> str:
    """The run whose rows a file of the lake holds."""
    return file.parent.name.removeprefix("run_id=")


def _rows(warehouse: duckdb.DuckDBPyConnection, table: str, files: Files) -> str:
    own = [(side, _declared_rows(warehouse, table, found)) for side, found in files]
    return " union all ".join(side.select(table, f"({rows})") if side else rows for side, rows in own)


def _declared_rows(warehouse: duckdb.DuckDBPyConnection, table: str, files: Sequence[Path]) -> str:
    """A SELECT of the declared columns with their types; columns missing in older files are null."""
    if not files:
        return f"from lake.empty_{table}"
    if sum(file.stat().st_size for file in files) <= min(SMALL * len(files), GATHERED) and (
        gathered := _gather(warehouse, table, files)
    ):
        return f"from {gathered}"
    refuse_newer(files)
    paths = ", ".join(literal(escape_glob(file)) for file in files)
    rows = f"read_parquet([{paths}], union_by_name = true, hive_partitioning = false)"
    landed = {row[0] for row in warehouse.execute(f"describe from {rows}").fetchall()}
    described = warehouse.execute(f"describe lake.empty_{table}").fetchall()
    columns = (f"{name if name in landed else 'null'}::{kind} as {name}" for name, kind, *_ in described)
    return f"select {', '.join(columns)} from {rows}"


def _gather(warehouse: duckdb.DuckDBPyConnection, table: str, files: Sequence[Path]) -> str | None:
    """An in-memory table with the rows of small files. None if a file cannot be read: DuckDB then reports
    which."""
    gathered = f"lake.gathered_{table}_{content_hash(*map(str, files))}"
    warehouse.execute(f"create or replace table {gathered} as from lake.empty_{table}")
    try:
        for first in range(0, len(files), AT_ONCE):
            rows = scan_files(table, list(files[first : first + AT_ONCE])).collect()
            warehouse.register("landed_rows", rows.to_arrow(compat_level=pl.CompatLevel.newest()))
            warehouse.execute(f"insert into {gathered} from landed_rows")
            warehouse.unregister("landed_rows")
    except (pl.exceptions.PolarsError, OSError):
        return None
    return gathered
