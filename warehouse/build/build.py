"""Builds the DuckDB file from the lake, tests it, then renames it over the old one. The file can be rebuilt at any
time."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import duckdb
import filelock
import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.warehouse.build.attach_lake import Landed, attach_lake, empty_relations, list_landed
from biasgrid.warehouse.build.increments import (
    PART,
    Increment,
    find_increment,
    of_one_run,
    replace_pairs,
    replace_runs,
    without_other_kinds,
    write_marks,
)
from biasgrid.warehouse.build.integrity import (
    load_integrity,
    refuse_damage,
    refuse_damage_within,
    refuse_flaws_behind,
    refuse_unreadable,
)
from biasgrid.warehouse.build.kept_rows import add_kept_rows
from biasgrid.warehouse.build.macros import FORMAT, SCHEMA, blank
from biasgrid.warehouse.build.materialize import STORAGE, Made, declare_no_repeats, make, make_models
from biasgrid.warehouse.build.model_tests import ModelTestFailed, check
from biasgrid.warehouse.build.models import SCHEMAS, Model, load_models
from biasgrid.warehouse.build.reading import OFFLINE, open_built_file
from biasgrid.warehouse.build.run_scope import Side
from biasgrid.warehouse.build.sql_quoting import literal
from biasgrid.warehouse.build.text_views import copy_exceptions, fetch_texts, is_damage, keep_texts, reading_texts
from biasgrid.warehouse.storage.atomic_file import remove_partial_files, replace_atomically
from biasgrid.warehouse.storage.compaction import find_superseded, remove_superseded
from biasgrid.warehouse.storage.errors import StorageTrouble, storing
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.objects.address import WHERE
from biasgrid.warehouse.storage.objects.leases import Turn, take_turns
from biasgrid.warehouse.storage.tombstones import FOLDER
from biasgrid.warehouse.storage.verification import list_files, refuse_damaged

BUILDING = {"preserve_insertion_order": "false", "force_compression": "zstd", "parquet_metadata_cache": "true"}
"""Settings of a build: rows unordered, zstd without trying other codecs, metadata of files read once."""

AT_THE_END = "recovery_mode no_wal_writes"
"""Setting that syncs the new file once at the end, not after each table."""

MEMORY = 3 * 1024**3
"""DuckDB's maximum memory in bytes, if its default is higher; larger results are spilled to disk. The process
takes about 1.1 GiB more: 4.1 GiB at 50 million verdicts."""

SMALL = 16 * 1024**2
"""Bytes of files below which one thread is faster: several wait for each other longer than they compute."""

Gate = Callable[[Path], None]
"""Receives the built file before it replaces the old one; raises an error to refuse it."""

OURS = (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException, duckdb.OutOfMemoryException)
"""Errors that no file of the lake can cause."""


def build(
    lake: Lake,
    target: Path | None = None,
    models: Traversable | None = None,
    gate: Gate | None = None,
    full: bool = False,
) -> Path:
    """Builds all models from the lake and returns the file, `lake.database` by default. Rows of runs that have not
    changed since the file was built are taken from it, unless `full`.

    A process that has the old file open keeps reading it. Raises `ModelTestFailed`, `UndeclaredRelation`,
    `NotOneSelect`, `LakeDamaged`, `LakeTooNew`, `StorageTrouble` or an error of `gate`; the old file is then
    unchanged.
    """
    target = target or lake.database
    ordered = load_models(models)
    with storing(target), hold_build_lock(lake) as turn:
        remove_partial_files(target.parent)
        superseded = find_superseded(lake) if target == lake.database else []
        landed = list_landed(lake)
        increment = find_increment(lake, _last_file(lake, target, full), ordered, landed)
        refuse_damaged(lake, (file for own in increment.select(landed).values() for file in own))
        passed = gate or (lambda built: None)
        if increment.is_empty:
            passed(target)
        else:
            with replace_atomically(target) as partial:
                _build(partial, target, lake, ordered, landed, increment)
                passed(partial)
                if turn and target == lake.database:
                    turn.publish(partial, target)
        remove_superseded(lake, superseded)
    return target


def _build(
    partial: Path, last: Path, lake: Lake, ordered: Sequence[Model], landed: Landed, increment: Increment
) -> None:
    if not increment.is_whole:
        try:
            shutil.copyfile(last, partial)
            _build_changed(partial, lake, ordered, landed, increment)
        except duckdb.Error as error:
            if not is_damage(error):
                raise
            partial.unlink()  # the last file is damaged: all is computed again
        else:
            return
    _build_all(partial, lake, ordered, landed, increment)


def _last_file(lake: Lake, target: Path, full: bool) -> Path | None:
    """The file whose rows may be kept, in shared storage the newest one."""
    exists = lake.has_database() if target == lake.database else target.exists()
    return target if exists and not full else None


def _build_all(partial: Path, lake: Lake, ordered: Sequence[Model], landed: Landed, increment: Increment) -> None:
    with open_new_file(partial) as warehouse:
        _limit_threads(warehouse, landed)
        if landed[FOLDER]:
            shown = fill(warehouse, lake, [model for model in ordered if not model.is_of_history], landed=landed)
            add_kept_rows(warehouse, of_one_run(ordered), landed[FOLDER])
            _make_across(warehouse, [model for model in ordered if model.is_of_history])
        else:
            shown = fill(warehouse, lake, ordered, landed=landed)
        copy_exceptions(warehouse)
        _keep_previous_names(warehouse, ordered)
        keep_texts(warehouse, lake, ordered, shown)
        write_marks(warehouse, increment)


def _build_changed(
    partial: Path, lake: Lake, ordered: Sequence[Model], landed: Landed, increment: Increment
) -> None:
    """Replaces changed runs in a copy of the last file, and computes anew what looks across runs."""
    of_runs = [model for model in ordered if not model.is_of_history]
    part = partial.with_suffix(f"{partial.suffix}-runs")
    try:
        if increment.changed:
            with _open_part(part, partial) as warehouse:
                _limit_threads(warehouse, increment.select(landed))
                fill(warehouse, lake, of_runs, landed=increment.select(landed))
                copy_exceptions(warehouse)
        with open_file(partial) as warehouse:
            _limit_threads(warehouse, landed)
            if increment.changed:
                warehouse.execute(f"attach {literal(part)} as {PART} (read_only)")
            replace_runs(warehouse, ordered, increment)
            add_kept_rows(warehouse, of_one_run(ordered), increment.select(landed)[FOLDER])
            _make_across(warehouse, [model for model in ordered if model.is_of_history], increment)
            keep_texts(warehouse, lake, ordered, without_other_kinds(warehouse, landed))
            write_marks(warehouse, increment)
    finally:
        part.unlink(missing_ok=True)


def _limit_threads(warehouse: duckdb.DuckDBPyConnection, landed: Landed) -> None:
    """One thread for small files."""
    if sum(file.stat().st_size for own in landed.values() for file in own) < SMALL:
        warehouse.execute("set threads = 1")


def _make_across(
    warehouse: duckdb.DuckDBPyConnection, across: Sequence[Model], increment: Increment | None = None
) -> None:
    """Makes models across runs; with `increment` in place of those that the file has."""
    for model in across:
        if increment and model.about.pairs:
            replace_pairs(warehouse, model, increment)
        else:
            warehouse.execute(f"drop table if exists {model.relation}")
            make(warehouse, model)
        check(warehouse, model, Made(rows=None))


def prepare(has_file: bool = False) -> None:
    """Loads the models into this process's memory, and the macros, unless there is a file that has them."""
    load_models()
    load_integrity()
    if not has_file:
        blank()


def fill(
    warehouse: duckdb.DuckDBPyConnection,
    lake: Lake,
    ordered: Sequence[Model],
    sides: Sequence[Side] = (),
    landed: Landed | None = None,
) -> Mapping[str, Sequence[Path]]:
    """Builds and tests models in dependency order, from the whole lake or only the runs of `sides` or the files
    `landed`. Returns the files of each relation of the lake. Raises the errors of `build`."""
    refuse_damaged(lake, (file for side in sides for file in list_files(lake, side.run_id)))
    try:
        files = attach_lake(warehouse, lake, sides, landed=landed)
        _make_all(warehouse, lake, ordered, {side.name: side.run_id for side in sides})
    except duckdb.Error as error:
        if not isinstance(error, OURS) and StorageTrouble.behind(error, lake.database) is None:
            refuse_unreadable(lake, error)
        raise
    return files


def compute_models(warehouse: duckdb.DuckDBPyConnection, lake: Lake, ordered: Sequence[Model], side: Side) -> None:
    """Like `fill` for a run that this process is writing, without model tests and integrity checks, which take
    longer than the models."""
    wanted = {read.removeprefix("lake.") for model in ordered for read in model.reads if read.startswith("lake.")}
    attach_lake(warehouse, lake, (side,), wanted)
    declare_no_repeats(warehouse)
    _make_schemas(warehouse, ordered)
    for _ in make_models(warehouse, ordered, empty_relations(warehouse)):
        pass


def _keep_previous_names(warehouse: duckdb.DuckDBPyConnection, ordered: Sequence[Model]) -> None:
    """Creates views with the names that `intermediate` models had in release 0.1: `staging.stg_<name>`."""
    names = (model.name.removeprefix("int_") for model in ordered if model.schema == "intermediate")
    views = (
        f"create view staging.stg_{name} as from intermediate.int_{name};"
        f"comment on view staging.stg_{name} is 'Previous name of intermediate.int_{name}'"
        for name in names
    )
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
    for model, made in make_models(warehouse, ordered, empty_relations(warehouse)):
        try:
            check(warehouse, model, made)
        except ModelTestFailed:
            refuse_flaws_behind(warehouse, lake, runs)
            raise
    refuse_damage_within(warehouse, lake, runs, [model.relation for model in ordered])


@contextmanager
def hold_build_lock(lake: Lake) -> Iterator[Turn | None]:
    """Holds the build lock: no other process builds a warehouse or removes partial files meanwhile."""
    lake.locks.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(lake.locks / "warehouse.lock"), take_turns(lake.shared, "warehouse") as turn:
        yield turn


def connect(lake: Lake, texts_of: str | None = None) -> duckdb.DuckDBPyConnection:
    """Read-only connection to the warehouse, in UTC. Queries can reach no network and no files except the lake's.

    `texts_of`: the only run whose prompts, replies and verdicts are queried row by row, or ALL. Raises `UserError`
    if there is no warehouse, or no readable one.
    """
    if not lake.has_database():
        raise UserError(
            Problem(
                what=f"there is no warehouse at `{lake.display_path(lake.database)}` yet",
                where=WHERE,
                remedy="run a scenario first, go on with one that was interrupted (`biasgrid resume`), or build "
                "from what has landed (`biasgrid warehouse build`)",
            )
        )
    fetch_texts(lake, texts_of)
    try:
        return open_built_file(lake, texts_of)
    except duckdb.Error as error:
        raise UserError(
            Problem(
                what=f"the warehouse cannot be opened: {str(error).splitlines()[0]}",
                where=str(lake.database),
                remedy="it is derived: delete it, then `biasgrid warehouse build`",
            )
        ) from error


def query(lake: Lake, sql: str, parameters: Parameters = (), texts_of: str | None = None) -> pl.DataFrame:
    """Result of one SELECT on the warehouse; `parameters` replace each `?`. Raises the errors of `connect`."""
    with connect(lake, texts_of) as warehouse:
        return fetch_rows(warehouse, sql, parameters)


Parameters = Sequence[object] | Mapping[str, object]
"""Values for each `?`, or for each `$name`."""


def fetch_rows(warehouse: duckdb.DuckDBPyConnection, sql: str, parameters: Parameters = ()) -> pl.DataFrame:
    """Like `query`, on an open connection."""
    given = dict(parameters) if isinstance(parameters, Mapping) else list(parameters)
    with reading_texts():
        rows = pl.from_arrow(warehouse.sql(sql, params=given).to_arrow_table())
    assert isinstance(rows, pl.DataFrame)  # noqa: S101 - a table becomes a frame, never a series
    return rows


def open_new_file(path: Path) -> duckdb.DuckDBPyConnection:
    """Connection to a new database file, closed at the end of the `with` block."""
    path.write_bytes(blank())
    return open_file(path)


def _open_part(path: Path, whole: Path) -> duckdb.DuckDBPyConnection:
    """Connection to a new file for rows of some runs. Its models call the macros of the file that these go into:
    defining them again takes as long as computing a run of a thousand prompts."""
    warehouse = open_file(path)
    warehouse.execute(f"attach {literal(whole)} as whole (read_only)")
    warehouse.execute(f"set search_path = 'biasgrid.main,whole.{SCHEMA}'")
    return warehouse


def open_file(path: Path) -> duckdb.DuckDBPyConnection:
    """Connection that writes a database file which no other process has open."""
    warehouse = duckdb.connect(config=OFFLINE)
    warehouse.execute(f"attach {literal(path)} as biasgrid ({FORMAT}, {AT_THE_END})")
    warehouse.execute("use biasgrid")
    warehouse.execute("set TimeZone = 'UTC'")
    warehouse.execute(f"set temp_directory = {literal(f'{path}.tmp')}")
    most = "parse_formatted_bytes(current_setting('memory_limit'))"
    (memory,) = warehouse.execute(f"select least({most}, {MEMORY})").fetchall()[0]
    for setting, value in (BUILDING | {"memory_limit": f"{memory}B"}).items():
        warehouse.execute(f"set {setting} = '{value}'")
    return warehouse


def run_row(lake: Lake, run_id: str) -> dict[str, Any]:
    """The run's row in staging.stg_runs. Raises `UserError` if the warehouse lacks the run or does not exist."""
    with connect(lake) as warehouse:
        return find_run_row(warehouse, lake, run_id)


def find_run_row(warehouse: duckdb.DuckDBPyConnection, lake: Lake, run_id: str) -> dict[str, Any]:
    """Like `run_row`, on an open connection."""
    rows = fetch_rows(warehouse, "select * from staging.stg_runs where run_id = ?", [run_id]).to_dicts()
    if rows:
        return rows[0]
    known = fetch_rows(warehouse, "select run_id from staging.stg_runs order by run_id")["run_id"].to_list()
    remedy = nearest(run_id, known) or "`biasgrid runs` lists them; `biasgrid warehouse build` brings in new ones"
    raise UserError(
        Problem(f"the warehouse holds no run `{run_id}`", str(lake.display_path(lake.database)), remedy)
    )
