"""Compacts many small files of a run into one, since each build opens hundreds of thousands after a year of runs.

`folded/<table>/run_id=<run>/` holds a copy of the rows of a run's files. It is derived and can be deleted; it is
written again when a file is added or changed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import polars as pl

from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.schemas import SCHEMA_VERSION
from biasgrid.warehouse.storage.atomic_file import replace_atomically
from biasgrid.warehouse.storage.lake import Lake, scan_files

MANY = 8
"""Minimum number of files of a run in a table for compaction."""

SMALL = 256 * 1024
"""Mean file size in bytes below which opening takes as long as reading."""


def fold_files(lake: Lake, table: str, files: Sequence[Path]) -> list[Path]:
    """The files of a table in the lake's order, with one compacted file for each run that has many small ones.
    Files that cannot be read or compacted are returned as they are."""
    place = lake.root / "folded" / table
    found = [file for own in _by_run(files) for file in _fold(place, table, own)]
    _sweep(place, {file.parent for file in found})
    return found


def are_small(stats: Sequence[os.stat_result]) -> bool:
    """Whether opening such files takes longer than reading them."""
    return sum(of.st_size for of in stats) <= SMALL * len(stats)


def _by_run(files: Sequence[Path]) -> Iterator[list[Path]]:
    return (list(own) for _, own in groupby(files, key=lambda file: file.parent))


def _fold(place: Path, table: str, files: list[Path]) -> list[Path]:
    if len(files) < MANY:
        return files
    stats = [file.stat() for file in files]
    if not are_small(stats):
        return files
    one = place / files[0].parent.name / f"{_mark(files, stats)}.parquet"
    return [one] if one.exists() or _write_compacted(one, table, files) else files


def _mark(files: Sequence[Path], stats: Sequence[os.stat_result]) -> str:
    """Cache key: changes if a file is added, removed or changed, or if the schema changes."""
    marks = (f"{file.name} {of.st_size} {of.st_mtime_ns}" for file, of in zip(files, stats, strict=True))
    return content_hash(str(SCHEMA_VERSION), *marks)


def _write_compacted(one: Path, table: str, files: list[Path]) -> bool:
    try:
        rows = scan_files(table, files).collect()
        with replace_atomically(one) as partial:
            rows.write_parquet(partial, compression="zstd")
        for other in one.parent.glob("*.parquet"):
            if other != one:
                other.unlink()
    except (pl.exceptions.PolarsError, OSError):
        return False
    return True


def _sweep(place: Path, used: set[Path]) -> None:
    """Removes folders of runs that are deleted or no longer have many small files."""
    for own in place.glob("run_id=*"):
        if own not in used:
            shutil.rmtree(own, ignore_errors=True)
