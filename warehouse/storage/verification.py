"""Finds files of the lake whose bytes are not those that were written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from biasgrid.catalogs.errors import Problem
from biasgrid.warehouse.schema_check import version_of
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.manifest import Entry, key_of, read_log
from biasgrid.warehouse.storage.pack_file import read_rows, remedy
from biasgrid.warehouse.storage.tombstones import FOLDER as FORGOTTEN
from biasgrid.warehouse.storage.tombstones import REMOVED

CHECKSUMS_SINCE = 5
"""Schema version since which files have page checksums."""

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
            is_forgotten = any(path.parent.parent.name == FORGOTTEN for path in own)
            yield from _find_missing(lake, run_id, is_forgotten=is_forgotten)
            checks = [threads.submit(check_file, lake, path, known.get(key_of(path), ())) for path in own]
            yield from (problem for check in checks if (problem := check.result()))


def check_file(lake: Lake, path: Path, known: Sequence[Entry]) -> Problem | None:
    """What is wrong with a file that may have one of the `known` contents; without any, by its page checksums."""
    run_id, table = path.parent.name.removeprefix("run_id="), path.parent.parent.name
    where = str(lake.display_path(path))
    try:
        is_known = Entry.of(path, 0).sha256 in {entry.sha256 for entry in known}
        if not is_known and (known or _has_checksums(path)):
            for _ in read_rows(path):
                pass
    except FileNotFoundError:
        return _missing(lake, path, known)
    except LakeDamaged as damage:
        return Problem(damage.mistakes[0].what + _loss(known), where, _remedy(lake, run_id))
    except OSError as error:
        return Problem(
            f"a file of `{table}` of run `{run_id}` cannot be read: {error.strerror}", where, remedy(run_id)
        )
    what = f"a file of `{table}` of run `{run_id}` does not have the bytes that were written{_loss(known)}"
    return None if is_known or not known else Problem(what, where, _remedy(lake, run_id))


def _remedy(lake: Lake, run_id: str) -> str:
    return remedy(run_id, lake.display_path(lake.root / "lake"))


def _has_checksums(path: Path) -> bool:
    version = version_of(path)
    return version.isdecimal() and int(version) >= CHECKSUMS_SINCE


def _find_missing(lake: Lake, run_id: str, *, is_forgotten: bool) -> Iterator[Problem]:
    for name, entry in lake.manifest(run_id).files.items():
        path = lake.root / "lake" / name.replace("/", f"/run_id={run_id}/")
        if not path.exists() and not (is_forgotten and path.parent.parent.name in REMOVED):
            yield _missing(lake, path, [entry])


def _missing(lake: Lake, path: Path, known: Sequence[Entry]) -> Problem:
    run_id, table = path.parent.name.removeprefix("run_id="), path.parent.parent.name
    what = f"a file of `{table}` of run `{run_id}` is missing{_loss(known)}"
    return Problem(what, str(lake.display_path(path)), _remedy(lake, run_id))


def _loss(known: Sequence[Entry]) -> str:
    return f" ({known[-1].rows:,} rows)" if known else ""
