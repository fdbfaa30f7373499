"""The data directory: append-only Parquet tables, journals of running runs, the DuckDB file.

```
<root>/lake/<table>/run_id=<id>/<name>.parquet
<root>/lake/plans/<hash>.parquet
<root>/lake/manifests/run_id=<id>/manifest.json
<root>/journal/run_id=<id>/<cell_id>.jsonl
<root>/locks/
<root>/sessions/<run>/
<root>/biasgrid.duckdb
<root>/expectations/index.html
```

Object storage has the same layout below `s3://bucket/prefix`; the root is then its local mirror.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import filelock
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.warehouse.schema_check import (
    SchemaMismatch,
    conform,
    declared_schema,
    fit,
    polars_schema,
    refuse_newer,
    stamp_version,
)
from biasgrid.warehouse.schemas import EVENTS, TABLES
from biasgrid.warehouse.storage.atomic_file import replace_atomically
from biasgrid.warehouse.storage.disk_reserve import Reserve
from biasgrid.warehouse.storage.errors import StorageTrouble, storing
from biasgrid.warehouse.storage.manifest import FILE as MANIFEST
from biasgrid.warehouse.storage.manifest import MANIFESTS, Entry, Manifest, key_of, log_landed
from biasgrid.warehouse.storage.objects.address import WHERE, Address
from biasgrid.warehouse.storage.objects.mirror import CACHE, SharedStorage
from biasgrid.warehouse.storage.objects.uploader import Uploader
from biasgrid.warehouse.storage.pack_file import (
    PREFIX,
    Names,
    find_rows,
    is_pack,
    list_names,
    match_names,
    read_parts,
    select_current,
    visible_files,
)

T = TypeVar("T")

PARTS = frozenset({"lake", "journal"})
"""At least one of these exists if anything has been stored."""

UNUSABLE = frozenset("?\\")
"""DuckDB reads what follows a question mark as parameters, and a backslash as a slash."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class UnsafeName(ValueError):
    """A run id, file name or hash that could point outside its folder."""


def check_name(name: str) -> str:
    """`name` if it is safe in a path: letters, digits, `.`, `_`, `-`, at most 200. Raises `UnsafeName`."""
    if not _NAME.fullmatch(name):
        raise UnsafeName(f"`{name!r}` cannot be a name in the lake: letters, digits, `.`, `_` and `-` only")
    return name


@dataclass(frozen=True, slots=True)
class Lake:
    """All data below one root. Opening creates nothing; writing creates the folders it needs."""

    root: Path
    shared: SharedStorage | None = None
    """The shared storage, if any: `root` is then its local mirror."""

    @classmethod
    def at(cls, named: Path | str) -> Lake:
        """The lake in a directory or on object storage (`s3://bucket/prefix`), which need not exist."""
        address = Address.of(named)
        if address is None:
            return cls(Path(named).expanduser().absolute())
        shared = SharedStorage.at(address)
        return cls(shared.root, shared)

    @classmethod
    def open(cls, named: Path | str) -> Lake:
        """Like `at`, for writing. Raises `UserError` if it is not writable, or if DuckDB cannot open files there.
        Leaves no files behind."""
        lake = cls.at(named)
        if found := UNUSABLE.intersection(str(lake.root)):
            what = f"the path `{lake.root}` has a `{min(found)}`, with which DuckDB cannot open files"
            raise UserError(Problem(what, CACHE if lake.shared else WHERE, "name another directory"))
        if lake.shared:
            lake.shared.refuse_unwritable()
        _refuse_unwritable(lake.root)
        return lake

    @property
    def exists(self) -> bool:
        """Whether the lake has any data. Raises `UserError` if the storage cannot be listed."""
        return bool(self.shared.bucket.names() & PARTS) if self.shared else self.root.is_dir()

    @property
    def named(self) -> str:
        """The address, as `at` accepts it."""
        return str(self.shared.address) if self.shared else str(self.root)

    def display_path(self, path: Path) -> Path | str:
        """The path or URL of a path below the root, for messages."""
        return self.shared.address.url(self.shared.name(path)) if self.shared else path

    @property
    def database(self) -> Path:
        """The DuckDB file, derived from the lake."""
        return self.root / "biasgrid.duckdb"

    @property
    def pages(self) -> Path:
        """Pages of the last inspection of lake and warehouse."""
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

    def manifest_folder(self, run_id: str) -> Path:
        return self.root / "lake" / MANIFESTS / f"run_id={check_name(run_id)}"

    def manifest(self, run_id: str) -> Manifest:
        """The manifest of a run, empty before it has one. Raises `LakeDamaged`."""
        folder = self.manifest_folder(run_id)
        self._bring_of_run(folder, run_id)
        return Manifest.read(folder)

    def files(self, table: str, run_id: str | None = None, name: Names | None = None) -> list[Path]:
        """The Parquet files of `table` whose rows count, compacted ones first in each run; with a `name`, a
        compacted file may have other rows as well. Raises `LakeDamaged`."""
        if run_id is not None:
            folder = self.folder(table, run_id)
            self._bring_of_run(folder, run_id)
            self._bring_of_run(self.manifest_folder(run_id), run_id)
            found = self._current(folder, name)
        else:
            declared_schema(table)
            self.bring(self.root / "lake" / MANIFESTS)
            self.bring(self.root / "lake" / table)
            found = [path for folder in self.run_folders(table) for path in self._current(folder, name)]
        if name is None:
            return found
        is_named = match_names(name)
        return [path for path in found if not is_pack(path) or find_rows(path, is_named)]

    def run_folders(self, table: str) -> list[Path]:
        """The folders of all runs with rows of `table` on this machine, oldest first."""
        folder = self.root / "lake" / table
        return [folder / name for name in list_names(folder) if name.startswith("run_id=")]

    def _current(self, folder: Path, name: Names | None) -> list[Path]:
        """Files whose rows count, of those that `visible_files` finds."""
        found = visible_files(folder, name)
        if len(found) < 2 or not any(map(is_pack, found)):
            return found
        # read before the folder, so that separate files are there if a compacted file no longer counts
        retired = Manifest.read(self.root / "lake" / MANIFESTS / folder.name).retired
        return select_current(visible_files(folder, name), retired)

    def bring(self, path: Path) -> None:
        """Updates `path` from the shared storage, if any. Raises `StorageTrouble`."""
        if self.shared:
            self.shared.bring(path)

    def has_database(self) -> bool:
        """Whether a DuckDB file has been published; downloads the newest one to `database`."""
        return self.shared.bring_file(self.database) if self.shared else self.database.exists()

    @contextmanager
    def landing(self, path: Path) -> Iterator[Path]:
        """Yields a temporary path whose file becomes `path` atomically. Raises `StorageTrouble` if it cannot be
        written."""
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
        """Ids of all runs with at least one event, oldest first."""
        return sorted({path.parent.name.removeprefix("run_id=") for path in self.files("runs")})

    def write(self, table: str, run_id: str, name: str, rows: pl.DataFrame | pa.Table) -> Path:
        """Stores `rows` under `name`, replacing an earlier file. Raises `SchemaMismatch`, `UnsafeName`.

        Raises `StorageTrouble` if it cannot be written, or if the run has had a storage error: the reserved space
        is only for events and replies in flight.
        """
        path = self.folder(table, run_id) / f"{check_name(name)}.parquet"
        table_rows = conform(table, rows)
        _refuse_other_runs(table, run_id, table_rows)
        reserve = Reserve.of(self.journal_folder(run_id))
        if table not in EVENTS:
            reserve.refuse_more()
        self._make_way(table, run_id, name)
        try:
            self._write(path, table_rows)
        except StorageTrouble as trouble:
            if not reserve.spend(trouble) or table not in EVENTS:
                raise
            self._write(path, table_rows)
        return path

    def _write(self, path: Path, rows: pa.Table) -> None:
        with self.landing(path) as partial:
            pq.write_table(rows, partial, compression="zstd", write_page_checksum=True)
            if self.shared is None:  # there a file can have no lines added
                folder = self.root / "lake" / MANIFESTS / path.parent.name
                log_landed(folder, key_of(path), Entry.of(partial, rows.num_rows), replaces=path.exists())

    def _make_way(self, table: str, run_id: str, name: str) -> None:
        """Lets a file replace one that is signed, or a part of a compacted file, whose parts then get files of
        their own."""
        path = self.folder(table, run_id) / f"{check_name(name)}.parquet"
        if not (files := self.manifest(run_id).files):
            return
        if key_of(path) in files:
            self.change_manifest(run_id, lambda own: replace(own, files=_without(own.files, path)))
        if any(key.startswith(f"{table}/{PREFIX}") for key in files) and self._find_packs(table, run_id, name):
            with self._manifest_lock(run_id):
                for pack in self._find_packs(table, run_id, name):
                    self._unpack(pack, run_id)

    def _find_packs(self, table: str, run_id: str, name: str) -> list[Path]:
        return [path for path in self.files(table, run_id, name) if is_pack(path)]

    def _unpack(self, pack: Path, run_id: str) -> None:
        for name, rows in read_parts(pack):
            self._write(pack.with_name(f"{name}.parquet"), stamp_version(fit(pack.parent.parent.name, rows)))
        self._change_manifest(
            run_id, lambda own: Manifest(_without(own.files, pack), own.retired | {key_of(pack)})
        )

    def separate(self, run_id: str) -> None:
        """Gives all rows of a run that may be replaced files of their own again, so that several processes can
        each write a part of the run. The caller holds the run's lock."""
        for pack in [path for table in TABLES for path in self.files(table, run_id) if is_pack(path)]:
            self._unpack(pack, run_id)
        self.change_manifest(run_id, lambda own: replace(own, files=_of_events(own.files)))

    def change_manifest(self, run_id: str, change: Callable[[Manifest], Manifest]) -> None:
        """Replaces the manifest of a run by what `change` makes of it; one process at a time on this machine."""
        with self._manifest_lock(run_id):
            self._change_manifest(run_id, change)

    def _change_manifest(self, run_id: str, change: Callable[[Manifest], Manifest]) -> None:
        path = self.manifest_folder(run_id) / MANIFEST
        before = self.manifest(run_id)
        after = change(before)
        if after == before:
            return
        with storing(path), replace_atomically(path) as partial:
            partial.write_bytes(after.as_bytes())
            if self.shared:
                self.shared.replace(partial, path)

    @contextmanager
    def _manifest_lock(self, run_id: str) -> Iterator[None]:
        # one lock object per thread: threads of a process wait for each other as well
        self.locks.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(self.locks / f"manifest-{check_name(run_id)}.lock"):
            yield

    def remove(self, path: Path) -> None:
        """Removes a file, from the shared storage first. Raises `StorageTrouble`."""
        if self.shared:
            self.shared.bucket.remove(self.shared.name(path))
        with storing(path):
            path.unlink(missing_ok=True)

    def scan(self, table: str, run_id: str | None = None, name: Names | None = None) -> pl.LazyFrame:
        """`table` with its declared schema, empty without files; columns missing in older files are null. Raises
        `LakeTooNew` for files of a newer biasgrid."""
        if name is None:
            return scan_files(table, self.files(table, run_id))
        return pl.concat([scan_files(table, []), *self._scan_parts(table, self.files(table, run_id, name), name)])

    def scan_each(self, table: str, run_id: str, name: Names) -> Iterator[pl.LazyFrame]:
        """Like `scan`, one frame per file; an empty one first."""
        yield scan_files(table, [])
        for path in self.files(table, run_id, name):
            yield from self._scan_parts(table, [path], name)

    def _scan_parts(self, table: str, files: Iterable[Path], name: Names) -> Iterator[pl.LazyFrame]:
        separate, is_named = [], match_names(name)
        for path in files:
            if not is_pack(path):
                separate.append(path)
                continue
            for first, rows in find_rows(path, is_named):
                yield scan_files(table, [path]).slice(first, rows)
        if separate:
            yield scan_files(table, separate)

    def read(self, table: str, run_id: str | None = None, name: Names | None = None) -> pl.DataFrame:
        """Like `scan`, in memory."""
        return read_again_if_compacted(lambda: self.scan(table, run_id, name).collect())

    def newest(self, table: str, run_id: str | None = None) -> pl.DataFrame:
        """The newest row of each key of an event table: of `runs` per run, of `cells` per run and cell."""
        return newest(self.read(table, run_id), EVENTS[table])


def read_again_if_compacted(read: Callable[[], T]) -> T:
    """What `read` returns. Repeats it if a file was compacted after it was listed: other files have its rows."""
    try:
        return read()
    except FileNotFoundError:
        return read()


def scan_files(table: str, files: list[Path]) -> pl.LazyFrame:
    """The rows of `files`, in the form of `Lake.scan`."""
    schema = polars_schema(table)
    refuse_newer(files)
    if not files:
        return pl.LazyFrame(schema=schema)
    return pl.scan_parquet(
        files, schema=schema, glob=False, hive_partitioning=False, missing_columns="insert", extra_columns="ignore"
    )


def newest(events: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The row of each key with the greatest `event_id`; ids are ULIDs, which sort by time."""
    return events.sort("event_id").unique(list(keys), keep="last", maintain_order=True)


def _of_events(files: Mapping[str, Entry]) -> Mapping[str, Entry]:
    """Those that nothing replaces."""
    return {name: entry for name, entry in files.items() if name.partition("/")[0] in EVENTS}


def _without(files: Mapping[str, Entry], path: Path) -> Mapping[str, Entry]:
    return {name: entry for name, entry in files.items() if name != key_of(path)}


def _refuse_other_runs(table: str, run_id: str, rows: pa.Table) -> None:
    strangers = [found for found in rows["run_id"].unique().to_pylist() if found != run_id]
    if strangers:
        raise SchemaMismatch(f"`{table}.run_id` holds `{strangers[0]}` in rows written for run `{run_id}`")


def _refuse_unwritable(root: Path) -> None:
    """Creates the directory if it is missing."""
    made = [folder for folder in (root, *root.parents) if not folder.exists()]
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        _remove_empty(made)
        what = f"the data directory `{root}` cannot be written: {error.strerror or error}"
        remedy = "name a directory that you may write to, or change the permissions of this one"
        raise UserError(Problem(what, WHERE, remedy)) from error


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
