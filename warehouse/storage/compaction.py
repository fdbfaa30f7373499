"""Many small files of a run as one: a year of nights lands hundreds of thousands, and a build opens each of them.

`folded/<table>/run_id=<run>/` has the rows of a run's files as they were when it was written. It is derived, as
the warehouse is: deleting it loses nothing, and what has landed since, or was changed, makes it anew.
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
"""Files of a run in a table from which on one takes their place."""

SMALL = 256 * 1024
"""Bytes of a file, in the mean, below which opening it takes as long as reading it."""


def fold_files(lake: Lake, table: str, files: Sequence[Path]) -> list[Path]:
    """These files of a table, in the lake's order, one in place of those of each run that has many small ones.
    Files that cannot be read, or whose place cannot be written, stay as they are."""
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
    return [one] if one.exists() or _written(one, table, files) else files


def _mark(files: Sequence[Path], stats: Sequence[os.stat_result]) -> str:
    """Another one where a file has come, gone or changed, or is to be read by another schema."""
    marks = (f"{file.name} {of.st_size} {of.st_mtime_ns}" for file, of in zip(files, stats, strict=True))
    return content_hash(str(SCHEMA_VERSION), *marks)


def _written(one: Path, table: str, files: list[Path]) -> bool:
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
    """Folders of runs that are gone, or have not many small files any more."""
    for own in place.glob("run_id=*"):
        if own not in used:
            shutil.rmtree(own, ignore_errors=True)
