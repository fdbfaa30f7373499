"""The DuckDB file: derived from the lake, checked, then renamed over the old one. Deleting it loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import duckdb
import filelock
import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.warehouse.build.attach_lake import attach_lake
from biasgrid.warehouse.build.integrity import (
    load_integrity,
    refuse_damage,
    refuse_damage_within,
    refuse_flaws_behind,
    refuse_unreadable,
)
from biasgrid.warehouse.build.macros import ROW_GROUP, blank
from biasgrid.warehouse.build.materialize import STORAGE, declare_no_repeats, make_models
from biasgrid.warehouse.build.model_tests import ModelTestFailed, check
from biasgrid.warehouse.build.models import SCHEMAS, Model, load_models
from biasgrid.warehouse.build.run_scope import Side
from biasgrid.warehouse.build.sql_quoting import literal
from biasgrid.warehouse.build.text_views import fetch_texts, keep_texts, reading_texts, text_settings
from biasgrid.warehouse.storage.atomic_file import remove_partial_files, replace_atomically
from biasgrid.warehouse.storage.errors import StorageTrouble, storing
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.s3.address import WHERE
from biasgrid.warehouse.storage.s3.leases import Turn, take_turns

OFFLINE: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
"""Nothing is fetched at run time, and no Python variable is read as a table."""

BUILDING = {"preserve_insertion_order": "false", "force_compression": "zstd", "parquet_metadata_cache": "true"}
"""Rows come in no order, so that none wait for others. Texts are packed by zstd without trying every other way
first, which takes longer than packing; it applies to nothing but text. Files that many models read are asked once
what they hold."""

AT_THE_END = "recovery_mode no_wal_writes"
"""The new file is synced once, when it is whole, and not for each of its tables."""

MEMORY = 4 * 1024**3
"""Bytes that a build takes where DuckDB would take more; what does not fit goes to disk."""

Gate = Callable[[Path], None]
"""Gets the file that has been built, before it replaces the old one; raises where it must not."""

OURS = (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException, duckdb.OutOfMemoryException)
"""Errors that no file of the lake can bring about."""


def build(
    lake: Lake, target: Path | None = None, models: Traversable | None = None, gate: Gate | None = None
) -> Path:
    """Builds every model from what has landed and returns the file, `lake.database` by default.

    A process that has the old file open keeps reading it. Raises `ModelTestFailed`, `UndeclaredRelation`,
    `NotOneSelect`, `LakeDamaged`, `LakeTooNew`, `StorageTrouble` or what `gate` raises, and leaves the old file
    as it was.
    """
    target = target or lake.database
    ordered = load_models(models)
    with storing(target), hold_build_lock(lake) as turn:
        remove_partial_files(target.parent)
        with replace_atomically(target) as partial:
            with open_new_file(partial) as warehouse:
                keep_texts(warehouse, lake, ordered, fill(warehouse, lake, ordered))
                _keep_previous_names(warehouse, ordered)
                warehouse.execute("checkpoint biasgrid")  # what is first written in closing fails unheard
            if gate:
                gate(partial)
            if turn and target == lake.database:
                turn.publish(partial, target)
    return target


def prepare() -> None:
    """Reads the models and macros into this process's memory."""
    load_models()
    load_integrity()
    blank()


def fill(
    warehouse: duckdb.DuckDBPyConnection, lake: Lake, ordered: Sequence[Model], sides: Sequence[Side] = ()
) -> Mapping[str, Sequence[Path]]:
    """Builds and tests models, each after what it reads, from all that has landed, or from these runs alone where
    there are `sides`. Returns the files of each relation of the lake. Raises as `build` does."""
    try:
        files = attach_lake(warehouse, lake, sides)
        _make_all(warehouse, lake, ordered, {side.name: side.run_id for side in sides})
    except duckdb.Error as error:
        if not isinstance(error, OURS) and StorageTrouble.behind(error, lake.database) is None:
            refuse_unreadable(lake, error)
        raise
    return files


def compute_models(warehouse: duckdb.DuckDBPyConnection, lake: Lake, ordered: Sequence[Model], side: Side) -> None:
    """As `fill`, of a run that this process is writing: what has just landed is not looked through for damage, nor
    the models tested, which takes longer than they do."""
    wanted = {read.removeprefix("lake.") for model in ordered for read in model.reads if read.startswith("lake.")}
    attach_lake(warehouse, lake, (side,), wanted)
    declare_no_repeats(warehouse)
    _make_schemas(warehouse, ordered)
    for _ in make_models(warehouse, ordered):
        pass


def _keep_previous_names(warehouse: duckdb.DuckDBPyConnection, ordered: Sequence[Model]) -> None:
    """Views by the names that the models of `intermediate` had in release 0.1: `staging.stg_<name>`."""
    names = (model.name.removeprefix("int_") for model in ordered if model.schema == "intermediate")
    views = (f"create view staging.stg_{name} as from intermediate.int_{name}" for name in names)
    warehouse.execute(";".join(views))


def _make_schemas(warehouse: duckdb.DuckDBPyConnection, ordered: Sequence[Model]) -> None:
    for schema in sorted({STORAGE, *SCHEMAS, *(model.schema for model in ordered)}):
        warehouse.execute(f"create schema {schema}")


def _make_all(
    warehouse: duckdb.DuckDBPyConnection, lake: Lake, ordered: Sequence[Model], runs: Mapping[str, str]
) -> None:
    declare_no_repeats(warehouse)
    refuse_damage(warehouse, lake, runs)
    _make_schemas(warehouse, ordered)
    for model, made in make_models(warehouse, ordered):
        try:
            check(warehouse, model, made)
        except ModelTestFailed:
            refuse_flaws_behind(warehouse, lake, runs)
            raise
    refuse_damage_within(warehouse, lake, runs, [model.relation for model in ordered])


@contextmanager
def hold_build_lock(lake: Lake) -> Iterator[Turn | None]:
    """Holds the lock on building: no other process builds a warehouse, or removes partial files, meanwhile."""
    lake.locks.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(lake.locks / "warehouse.lock"), take_turns(lake.shared, "warehouse") as turn:
        yield turn


def connect(lake: Lake, texts_of: str | None = None) -> duckdb.DuckDBPyConnection:
    """The warehouse to read from, in UTC: what is run on it can reach neither files nor the network, but those of
    the lake. `texts_of`: the only run whose prompts, replies and verdicts will be queried one by one, or ALL.

    Raises `UserError` where there is no warehouse yet, or no readable one.
    """
    if not lake.has_database():
        raise UserError(_absent(lake))
    fetch_texts(lake, texts_of)
    # attached, not opened: DuckDB would hand out an open database by its path, though the file was replaced
    warehouse = duckdb.connect(config=OFFLINE)
    try:
        warehouse.execute(f"attach {literal(lake.database)} as biasgrid (read_only)")
    except duckdb.Error as error:
        warehouse.close()
        raise UserError(_unreadable(lake, error)) from error
    settings = (*text_settings(lake, texts_of), "TimeZone = 'UTC'", "enable_external_access = false")
    for setting in (*settings, "lock_configuration = true"):
        warehouse.execute(f"set {setting}")
    warehouse.execute("use biasgrid")
    return warehouse


def query(lake: Lake, sql: str, parameters: Parameters = (), texts_of: str | None = None) -> pl.DataFrame:
    """The answer of the warehouse to one SELECT, with `?` for each of `parameters`. Raises as `connect` does."""
    with connect(lake, texts_of) as warehouse:
        return fetch_rows(warehouse, sql, parameters)


Parameters = Sequence[object] | Mapping[str, object]
"""In place of each `?`, or of each `$name`."""


def fetch_rows(warehouse: duckdb.DuckDBPyConnection, sql: str, parameters: Parameters = ()) -> pl.DataFrame:
    """As `query`, of a warehouse that is connected."""
    given = dict(parameters) if isinstance(parameters, Mapping) else list(parameters)
    with reading_texts():
        rows = pl.from_arrow(warehouse.sql(sql, params=given).to_arrow_table())
    assert isinstance(rows, pl.DataFrame)  # noqa: S101 - a table becomes a frame, never a series
    return rows


def open_new_file(path: Path) -> duckdb.DuckDBPyConnection:
    """A new file to build in, closed when it is left."""
    path.write_bytes(blank())
    warehouse = duckdb.connect(config=OFFLINE)
    storing_it = f"row_group_size {ROW_GROUP}, {AT_THE_END}"
    warehouse.execute(f"attach {literal(path)} as biasgrid ({storing_it})")
    warehouse.execute("use biasgrid")
    warehouse.execute("set TimeZone = 'UTC'")
    warehouse.execute(f"set temp_directory = {literal(f'{path}.tmp')}")
    most = "parse_formatted_bytes(current_setting('memory_limit'))"
    (memory,) = warehouse.execute(f"select least({most}, {MEMORY})").fetchall()[0]
    for setting, value in (BUILDING | {"memory_limit": f"{memory}B"}).items():
        warehouse.execute(f"set {setting} = '{value}'")
    return warehouse


def _absent(lake: Lake) -> Problem:
    return Problem(
        what=f"there is no warehouse at `{lake.told(lake.database)}` yet",
        where=WHERE,
        remedy="run a scenario first, go on with one that was interrupted (`biasgrid resume`), or build from "
        "what has landed (`biasgrid warehouse build`)",
    )


def _unreadable(lake: Lake, error: duckdb.Error) -> Problem:
    return Problem(
        what=f"the warehouse cannot be opened: {str(error).splitlines()[0]}",
        where=str(lake.database),
        remedy="it is derived: delete it, then `biasgrid warehouse build`",
    )


def run_row(lake: Lake, run_id: str) -> dict[str, Any]:
    """Its row of staging.stg_runs, the run as last recorded. Raises `UserError` for one that the warehouse does
    not hold, and where none has been built."""
    with connect(lake) as warehouse:
        return find_run_row(warehouse, lake, run_id)


def find_run_row(warehouse: duckdb.DuckDBPyConnection, lake: Lake, run_id: str) -> dict[str, Any]:
    """As `run_row`, of a warehouse that is open."""
    rows = fetch_rows(warehouse, "select * from staging.stg_runs where run_id = ?", [run_id]).to_dicts()
    if rows:
        return rows[0]
    known = fetch_rows(warehouse, "select run_id from staging.stg_runs order by run_id")["run_id"].to_list()
    remedy = nearest(run_id, known) or "`biasgrid runs` lists them; `biasgrid warehouse build` brings in new ones"
    raise UserError(Problem(f"the warehouse holds no run `{run_id}`", str(lake.told(lake.database)), remedy))
