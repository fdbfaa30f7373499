"""Finds files of the lake whose bytes are not those that were written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from biasgrid.catalogs.errors import Problem
from biasgrid.warehouse.schema_check import version_of
from biasgrid.warehouse.schemas import TABLES
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.manifest import Entry, key_of, read_log
from biasgrid.warehouse.storage.pack_file import read_rows, remedy
from biasgrid.warehouse.storage.tombstones import FOLDER as FORGOTTEN
from biasgrid.warehouse.storage.tombstones import REMOVED, TOMBSTONE, folder_of

CHECKSUMS_SINCE = 5
"""Schema version since which files have page checksums."""

Mark = tuple[int, int, int]
"""Size, time and inode of a file."""

Known = Mapping[str, Sequence[Entry]]
"""The contents that each file of a run may have."""


def known_contents(lake: Lake, run_id: str) -> Known:
    """By the manifest of a run and its log. Raises `LakeDamaged`."""
    signed = lake.manifest(run_id).files
    landed = read_log(lake.manifest_folder(run_id))
    return {
        name: [*([signed[name]] if name in signed else ()), *landed.get(name, ())] for name in {**signed, **landed}
    }


def refuse_damaged(lake: Lake, files: Iterable[Path]) -> None:
    """Raises `LakeDamaged` with all of `files` that have other bytes than were written, and with signed files of
    their runs that are missing."""
    mistakes = list(find_damage(lake, files))
    if mistakes:
        raise LakeDamaged(mistakes)


def find_damage(lake: Lake, files: Iterable[Path]) -> Iterator[Problem]:
    """The problems that `refuse_damaged` reports."""
    by_run: dict[str, list[Path]] = {}
    for path in files:
        by_run.setdefault(path.parent.name.removeprefix("run_id="), []).append(path)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for run_id, own in by_run.items():
            known = known_contents(lake, run_id)
            checks = [threads.submit(check_file, lake, path, known.get(key_of(path), ())) for path in own]
            yield from _find_missing(lake, run_id)
            yield from (problem for check in checks if (problem := check.result()))


def list_files(lake: Lake, run_id: str | None = None) -> list[Path]:
    """The files of all tables whose rows count, of all runs or of one, and what is kept of forgotten runs."""
    kept = (lake.root / "lake" / FORGOTTEN).glob(f"run_id={run_id or '*'}/[!.]*")
    return [*(path for table in TABLES for path in lake.files(table, run_id)), *sorted(kept)]


_checked: set[tuple[Path, Mark]] = set()
"""Files that this process has found as they were written, each with its state then."""


def check_file(lake: Lake, path: Path, known: Sequence[Entry]) -> Problem | None:
    """What is wrong with a file that may have one of the `known` contents; without any, by its page checksums."""
    run_id, table = path.parent.name.removeprefix("run_id="), path.parent.parent.name
    where, remedy_ = str(lake.display_path(path)), remedy(run_id, lake.display_path(lake.root / "lake"))
    try:
        mark = path, mark_of(path)
        if mark in _checked or _is_as_written(path, known):
            _checked.add(mark)
            return None
    except FileNotFoundError:  # compacted or forgotten meanwhile; signed files that are missing are found as such
        return None
    except LakeDamaged as damage:
        return Problem(damage.mistakes[0].what + _loss(known), where, remedy_)
    except OSError as error:
        return Problem(f"a file of `{table}` of run `{run_id}` cannot be read: {error.strerror}", where, remedy_)
    what = f"a file of `{table}` of run `{run_id}` does not have the bytes that were written{_loss(known)}"
    return Problem(what, where, remedy_)


def mark_of(path: Path) -> Mark:
    """Changes when a file is written again."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ino


def _is_as_written(path: Path, known: Sequence[Entry]) -> bool:
    if known and Entry.of(path, 0).sha256 in {entry.sha256 for entry in known}:
        return True
    if known or _has_checksums(path):
        for _ in read_rows(path):
            pass
    return not known


def _has_checksums(path: Path) -> bool:
    version = version_of(path)
    return version.isdecimal() and int(version) >= CHECKSUMS_SINCE


def _find_missing(lake: Lake, run_id: str) -> Iterator[Problem]:
    is_forgotten = (folder_of(lake, run_id) / TOMBSTONE).exists()
    for name, entry in lake.manifest(run_id).files.items():
        table, _, file = name.partition("/")
        path = lake.root / "lake" / table / f"run_id={run_id}" / file
        if path.exists() or (is_forgotten and table in REMOVED) or name not in lake.manifest(run_id).files:
            continue
        what = f"a file of `{table}` of run `{run_id}` is missing{_loss([entry])}"
        yield Problem(what, str(lake.display_path(path)), remedy(run_id, lake.display_path(lake.root / "lake")))


def _loss(known: Sequence[Entry]) -> str:
    return f" ({known[-1].rows:,} rows)" if known and known[-1].rows else ""
