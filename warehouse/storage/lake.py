"""The data directory: Parquet tables that only grow, journals of what is under way, the DuckDB file.

```
<root>/lake/<table>/run_id=<id>/<name>.parquet
<root>/lake/plans/<hash>.parquet
<root>/journal/run_id=<id>/<cell_id>.jsonl
<root>/locks/
<root>/sessions/<run>/
<root>/biasgrid.duckdb
<root>/expectations/index.html
```

On S3-compatible storage the same lies below `s3://bucket/prefix`, and the root is this machine's mirror of it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.warehouse.schema_check import SchemaMismatch, conform, declared_schema, polars_schema, refuse_newer
from biasgrid.warehouse.schemas import EVENTS
from biasgrid.warehouse.storage.atomic_file import replace_atomically
from biasgrid.warehouse.storage.disk_reserve import Reserve
from biasgrid.warehouse.storage.errors import StorageTrouble, storing
from biasgrid.warehouse.storage.s3.address import WHERE, Address
from biasgrid.warehouse.storage.s3.mirror import SharedStorage
from biasgrid.warehouse.storage.s3.uploader import Uploader

PARTS = frozenset({"lake", "journal"})
"""At least one is there where anything has landed."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class UnsafeName(ValueError):
    """A run id, file name or hash that could leave its folder."""


def check_name(name: str) -> str:
    """`name`, if it can stand in a path: letters, digits, `.`, `_`, `-`, at most 200. Raises `UnsafeName`."""
    if not _NAME.fullmatch(name):
        raise UnsafeName(f"`{name!r}` cannot be a name in the lake: letters, digits, `.`, `_` and `-` only")
    return name


@dataclass(frozen=True, slots=True)
class Lake:
    """Everything that landed below one root. Opening it creates nothing; writing creates what it needs."""

    root: Path
    shared: SharedStorage | None = None
    """The shared storage, if there is one: `root` is then a mirror of it."""

    @classmethod
    def at(cls, named: Path | str) -> Lake:
        """The lake in a directory or at `s3://bucket/prefix`, whether there is one or not."""
        address = Address.of(named)
        if address is None:
            return cls(Path(named).expanduser().absolute())
        shared = SharedStorage.at(address)
        return cls(shared.root, shared)

    @classmethod
    def open(cls, named: Path | str) -> Lake:
        """As `at`, one that can be written to. Raises `UserError` where it cannot, and leaves nothing behind."""
        lake = cls.at(named)
        if lake.shared:
            lake.shared.refuse_unwritable()
        _refuse_unwritable(lake.root)
        return lake

    @property
    def exists(self) -> bool:
        """Whether there is anything. Raises `UserError` where the storage cannot be listed."""
        return bool(self.shared.bucket.names() & PARTS) if self.shared else self.root.is_dir()

    @property
    def named(self) -> str:
        """As `at` takes it."""
        return str(self.shared.address) if self.shared else str(self.root)

    def told(self, path: Path) -> Path | str:
        """The address, for people, of a path below the root."""
        return self.shared.address.told(self.shared.name(path)) if self.shared else path

    @property
    def database(self) -> Path:
        """The DuckDB file, derived from the lake."""
        return self.root / "biasgrid.duckdb"

    @property
    def pages(self) -> Path:
        """Pages about the last check of lake and warehouse."""
        return self.root / "expectations"

    @property
    def locks(self) -> Path:
        return self.root / "locks"

    def folder(self, table: str, run_id: str) -> Path:
        """The folder of a run's files of `table`."""
        declared_schema(table)
        return self.root / "lake" / table / f"run_id={check_name(run_id)}"

    def journal_folder(self, run_id: str) -> Path:
        return self.root / "journal" / f"run_id={check_name(run_id)}"

    def files(self, table: str, run_id: str | None = None, name: str | None = None) -> list[Path]:
        """The Parquet files of `table`, sorted; `name` may be a glob such as `cell-*`."""
        pattern = f"{name or '*'}.parquet"
        if run_id is not None:
            self._bring_of_run(self.folder(table, run_id), run_id)
            return _visible(self.folder(table, run_id), pattern)
        declared_schema(table)
        self.bring(self.root / "lake" / table)
        return _visible(self.root / "lake" / table, f"run_id=*/{pattern}")

    def bring(self, path: Path) -> None:
        """Makes `path` as it is on the shared storage, if there is one. Raises
        `StorageTrouble`."""
        if self.shared:
            self.shared.bring(path)

    def has_database(self) -> bool:
        """Whether a DuckDB file has been published; it then lies at `database` as it was published last."""
        return self.shared.bring_file(self.database) if self.shared else self.database.exists()

    @contextmanager
    def landing(self, path: Path) -> Iterator[Path]:
        """Yields a path to write to; what is written has landed at `path`, as a whole, or not at all. Raises
        `StorageTrouble` where it cannot be written."""
        with storing(path), replace_atomically(path) as partial:
            yield partial
            if self.shared:
                self.shared.publish(partial, path)

    def _bring_of_run(self, folder: Path, run_id: str) -> None:
        if self.shared and (courier := Uploader.of(self.journal_folder(run_id))):
            courier.bring(folder)
        else:
            self.bring(folder)

    def runs(self) -> list[str]:
        """Ids of all runs that have landed an event, oldest first."""
        return sorted({path.parent.name.removeprefix("run_id=") for path in self.files("runs")})

    def write(self, table: str, run_id: str, name: str, rows: pl.DataFrame | pa.Table) -> Path:
        """Lands `rows` under `name`, replacing what that name held. Raises `SchemaMismatch`, `UnsafeName`.

        Raises `StorageTrouble` where it cannot be written, and where the run has met some before: what is held
        back for that moment is for its events, and for replies that are in flight.
        """
        path = self.folder(table, run_id) / f"{check_name(name)}.parquet"
        table_rows = conform(table, rows)
        _refuse_other_runs(table, run_id, table_rows)
        reserve = Reserve.of(self.journal_folder(run_id))
        if table not in EVENTS:
            reserve.refuse_more()
        try:
            self._write(path, table_rows)
        except StorageTrouble as trouble:
            if not reserve.spend(trouble) or table not in EVENTS:
                raise
            self._write(path, table_rows)
        return path

    def _write(self, path: Path, rows: pa.Table) -> None:
        with self.landing(path) as partial:
            pq.write_table(rows, partial, compression="zstd")

    def scan(self, table: str, run_id: str | None = None, name: str | None = None) -> pl.LazyFrame:
        """`table` with its declared schema, empty where nothing has landed; columns younger than a file are
        null. Raises `LakeTooNew` for what a newer biasgrid has written."""
        return scan_files(table, self.files(table, run_id, name))

    def read(self, table: str, run_id: str | None = None, name: str | None = None) -> pl.DataFrame:
        """What `scan` describes, in memory."""
        return self.scan(table, run_id, name).collect()

    def newest(self, table: str, run_id: str | None = None) -> pl.DataFrame:
        """Of an event table, the newest row of each key: of `runs` per run, of `cells` per run and cell."""
        return newest(self.read(table, run_id), EVENTS[table])

    def plan_path(self, plan_hash: str) -> Path:
        return self.root / "lake" / "plans" / f"{check_name(plan_hash)}.parquet"

    def has_plan(self, plan_hash: str) -> bool:
        path = self.plan_path(plan_hash)
        return path.exists() or bool(self.shared and self.shared.bring_file(path))

    def write_plan(self, plan_hash: str, frame: pl.DataFrame) -> Path:
        """Keeps a generated plan, of any columns, under the hash of what it was generated from."""
        path = self.plan_path(plan_hash)
        with self.landing(path) as partial:
            frame.write_parquet(partial, compression="zstd")
        return path

    def read_plan(self, plan_hash: str) -> pl.DataFrame:
        """The plan kept under `plan_hash`; raises FileNotFoundError where there is none."""
        path = self.plan_path(plan_hash)
        self.has_plan(plan_hash)
        return pl.read_parquet(path, glob=False, hive_partitioning=False)


def scan_files(table: str, files: list[Path]) -> pl.LazyFrame:
    """The rows of `files` as `Lake.scan` gives them."""
    schema = polars_schema(table)
    refuse_newer(files)
    if not files:
        return pl.LazyFrame(schema=schema)
    return pl.scan_parquet(
        files,
        schema=schema,
        glob=False,
        hive_partitioning=False,
        missing_columns="insert",
        extra_columns="ignore",
    )


def newest(events: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The row of each key with the greatest `event_id`; ids are ULIDs, which sort by time."""
    return events.sort("event_id").unique(list(keys), keep="last", maintain_order=True)


def _visible(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if not path.name.startswith("."))


def _refuse_other_runs(table: str, run_id: str, rows: pa.Table) -> None:
    strangers = [found for found in rows["run_id"].unique().to_pylist() if found != run_id]
    if strangers:
        raise SchemaMismatch(f"`{table}.run_id` holds `{strangers[0]}` in rows written for run `{run_id}`")


def _refuse_unwritable(root: Path) -> None:
    """Makes the directory where it is missing."""
    made = [folder for folder in (root, *root.parents) if not folder.exists()]
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        _remove_empty(made)
        raise UserError(_unwritable(root, error)) from error


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _unwritable(root: Path, error: OSError) -> Problem:
    return Problem(
        what=f"the data directory `{root}` cannot be written: {error.strerror or error}",
        where=WHERE,
        remedy="name a directory that you may write to, or change the permissions of this one",
    )
