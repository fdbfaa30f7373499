"""Compacts the files of a run to few per table, and signs them.

The compacted file gets its name when it is complete; from then on its parts take the place of the separate
files. These stay until a warehouse is built that does not read them (`remove_superseded`). A process that is
killed at any moment leaves files whose rows count once; the next compaction or build ends the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from biasgrid.catalogs.errors import Problem
from biasgrid.warehouse.schemas import TABLES
from biasgrid.warehouse.storage.atomic_file import remove_partial_files
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.manifest import LOG, Entry, Manifest, key_of
from biasgrid.warehouse.storage.pack_file import is_pack, new_pack_name, visible_files, write_pack
from biasgrid.warehouse.storage.run_lock import RunBusy, RunLock
from biasgrid.warehouse.storage.verification import Known, check_file, known_contents, refuse_damaged

MOST_BYTES = 128 * 1024 * 1024
"""Of a compacted file, about."""
SMALL_BYTES = MOST_BYTES // 4
"""Below it a compacted file is compacted again with files that have landed since."""


def compact_run(lake: Lake, run_id: str) -> int:
    """Compacts a run's files and signs them; returns by how many files fewer it has. Raises `RunBusy`, and
    `LakeDamaged` if a file does not have the bytes that were written."""
    with RunLock(lake, run_id):
        fewer = sum(_compact_table(lake, table, run_id) for table in TABLES)
        sign_run(lake, run_id)
    return fewer


def compact_runs(lake: Lake) -> int:
    """Compacts all runs that no process writes, and returns by how many files fewer there are. Raises
    `LakeDamaged` after all others are compacted."""
    fewer, damage = 0, list[Problem]()
    for run_id in list_runs(lake):
        try:
            with suppress(RunBusy):
                fewer += compact_run(lake, run_id)
        except LakeDamaged as damaged:
            damage += damaged.mistakes
    if damage:
        raise LakeDamaged(damage)
    return fewer


def list_runs(lake: Lake) -> list[str]:
    """Ids of all runs with files in the lake."""
    return sorted({path.parent.name.removeprefix("run_id=") for table in TABLES for path in lake.files(table)})


def _compact_table(lake: Lake, table: str, run_id: str) -> int:
    remove_partial_files(lake.folder(table, run_id))
    files = lake.files(table, run_id)
    small = [path for path in files if not is_pack(path) or path.stat().st_size < SMALL_BYTES]
    if len(small) < 2:
        return 0
    refuse_damaged(lake, small)
    groups = list(_group(small))
    for group in groups:
        if len(group) > 1:
            with lake.landing(lake.folder(table, run_id) / new_pack_name()) as path:
                write_pack(table, group, path)
    return len(small) - len(groups)


def _group(files: Sequence[Path]) -> Iterator[list[Path]]:
    group: list[Path] = []
    size = 0
    for path in files:
        own = path.stat().st_size
        if group and size + own > MOST_BYTES:
            yield group
            group, size = [], 0
        group.append(path)
        size += own
    yield group


def sign_run(lake: Lake, run_id: str) -> None:
    """Signs the files of a run that are not signed yet. Raises `LakeDamaged` if one does not have the bytes that
    were written."""
    with RunLock(lake, run_id):
        known = known_contents(lake, run_id)
        files = [path for table in TABLES for path in lake.files(table, run_id)]
        lake.change_manifest(run_id, lambda before: _sign(lake, before, files, known))
        (lake.manifest_folder(run_id) / LOG).unlink(missing_ok=True)


def _sign(lake: Lake, before: Manifest, files: Iterable[Path], known: Known) -> Manifest:
    signed: dict[str, Entry] = {}
    for path in files:
        name = key_of(path)
        if name in before.files:
            signed[name] = before.files[name]
            continue
        if problem := check_file(lake, path, known.get(name, ())):
            raise LakeDamaged(problem)
        signed[name] = Entry.of(path, pq.read_metadata(path).num_rows)
    return replace(before, files=signed)


def sign_unsigned_packs(lake: Lake, run_id: str) -> None:
    """Signs a run with a compacted file that is not signed, as a killed process may leave it: the manifest names
    the compacted files whose parts later files replace. Raises as `sign_run`."""
    signed = lake.manifest(run_id).files
    packs = (path for table in TABLES for path in lake.files(table, run_id) if is_pack(path))
    if any(key_of(path) not in signed for path in packs):
        sign_run(lake, run_id)


def find_superseded(lake: Lake, run_id: str | None = None, tables: Iterable[str] = TABLES) -> list[Path]:
    """Files whose rows count in other files, of all runs or of one."""
    return [
        path
        for table in tables
        for folder in (lake.run_folders(table) if run_id is None else [lake.folder(table, run_id)])
        for path in _superseded_in(lake, folder)
    ]


def _superseded_in(lake: Lake, folder: Path) -> Iterator[Path]:
    found = visible_files(folder)
    if len(found) > 1 and any(map(is_pack, found)):
        current = set(lake.files(folder.parent.name, folder.name.removeprefix("run_id=")))
        yield from (path for path in found if path not in current)


def remove_superseded(lake: Lake, superseded: Iterable[Path]) -> None:
    """Removes those of `superseded` that still are, of runs that no process writes. The caller holds the build
    lock, and the warehouse does not read them."""
    by_run: dict[str, list[Path]] = {}
    for path in superseded:
        by_run.setdefault(path.parent.name.removeprefix("run_id="), []).append(path)
    for run_id, paths in by_run.items():
        with suppress(RunBusy), RunLock(lake, run_id):
            counted = {path for table in TABLES for path in lake.files(table, run_id)}
            gone = [path for path in paths if path not in counted]
            names = frozenset(map(key_of, gone))
            lake.change_manifest(run_id, partial(drop_signed, names))
            for path in gone:
                lake.remove(path)
            lake.change_manifest(run_id, lambda own: replace(own, retired=own.retired - names))  # noqa: B023 - used at once


def drop_signed(names: frozenset[str], before: Manifest) -> Manifest:
    """The manifest without the files of these names."""
    return replace(before, files={name: entry for name, entry in before.files.items() if name not in names})
