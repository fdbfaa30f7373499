"""Compacted files: the rows of several files of a run's table, each with its name, in one file.

A file's metadata lists its parts: names and numbers of rows, in the order of the rows. A part takes the place of
the separate file of its name, if that is still there, and of the part of an earlier compacted file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import translate
from functools import lru_cache
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from ulid import ULID

from biasgrid.catalogs.errors import Problem
from biasgrid.warehouse.schema_check import fit, stamp_version
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.manifest import key_of

PREFIX = "all~"
"""Of compacted files; names in the lake never contain `~`."""
PARTS = b"biasgrid.parts"
GROUP_ROWS, GROUP_BYTES = 61_440, 8 * 1024 * 1024
"""Rows and bytes in memory of a row group: a cell is read without most of the others."""

Part = tuple[str, int]
"""Name and number of rows."""
Names = str | Sequence[str]
"""A file's name without ending, or a glob such as `cell-*`, or several of them."""


def match_names(name: Names) -> Callable[[str], object]:
    """Whether a name is one of `name`; one pattern for all, because a folder may have thousands of files."""
    return re.compile("|".join(map(translate, [name] if isinstance(name, str) else name))).match


def new_pack_name() -> str:
    """A file name that sorts after those of earlier compacted files."""
    return f"{PREFIX}{ULID()}.parquet"


def is_pack(path: Path | str) -> bool:
    """Whether a path, or a file's name, is that of a compacted file."""
    return (path if isinstance(path, str) else path.name).startswith(PREFIX)


def visible_files(folder: Path, name: Names | None = None) -> list[Path]:
    """The Parquet files in a folder, also those that no longer count, sorted: all of them, or compacted ones and
    those whose names without ending match."""
    ending, names = ".parquet", list_names(folder)
    found = [one for one in names if one.endswith(ending) and not one.startswith(".")]
    if name is not None:
        is_named = match_names(name)
        found = [one for one in found if is_named(one.removesuffix(ending)) or is_pack(one)]
    return [folder / one for one in found]


def list_names(folder: Path) -> list[str]:
    """The contents of a folder, sorted; much faster than a glob, where a run has thousands of files."""
    try:
        with os.scandir(folder) as found:
            return sorted(entry.name for entry in found)
    except (FileNotFoundError, NotADirectoryError):
        return []


def list_parts(path: Path) -> Sequence[Part]:
    """The parts of a compacted file. Raises `LakeDamaged`, and FileNotFoundError if it is gone."""
    stat = path.stat()
    return _list_parts(path, stat.st_mtime_ns, stat.st_ino)


@lru_cache(maxsize=4096)
def _list_parts(path: Path, *_version: int) -> Sequence[Part]:
    try:
        found = (pq.read_metadata(path).metadata or {})[PARTS]
        return tuple((name, rows) for name, rows in orjson.loads(found))
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise LakeDamaged(unreadable(path, error)) from error


def unreadable(path: Path, error: Exception) -> Problem:
    """The problem of a file of the lake that is not Parquet, or not all of it."""
    run_id = path.parent.name.removeprefix("run_id=")
    what = f"a file of `{path.parent.parent.name}` of run `{run_id}` is no whole Parquet file"
    return Problem(f"{what}: {(str(error) or type(error).__name__).splitlines()[0]}", str(path), remedy(run_id))


def remedy(run_id: str, place: Path | str = "lake") -> str:
    """What to do about damage to a run of the lake at `place`."""
    away = f"take the run out of the lake (move `{place}/*/run_id={run_id}` elsewhere)"
    return f"put back what belongs there, or {away}, then `biasgrid warehouse build`"


def select_current(paths: Sequence[Path], retired: Collection[str]) -> list[Path]:
    """Those of a folder's files whose rows count, compacted files first. `retired`: names of files that no longer
    do, as in manifests."""
    packs = sorted((path for path in paths if is_pack(path)), reverse=True)
    taken: set[str] = set()
    current = []
    for pack in packs:
        names = {name for name, _ in list_parts(pack)}
        if key_of(pack) not in retired and not names <= taken:
            current.append(pack)
            taken |= names
    return [*reversed(current), *(path for path in paths if not is_pack(path) and path.stem not in taken)]


def find_rows(path: Path, is_named: Callable[[str], object]) -> list[tuple[int, int]]:
    """Where the parts are whose names match: first row and number of rows, neighbours as one."""
    found: list[tuple[int, int]] = []
    first = 0
    for name, rows in list_parts(path):
        if is_named(name):
            if found and sum(found[-1]) == first:
                found[-1] = (found[-1][0], found[-1][1] + rows)
            else:
                found.append((first, rows))
        first += rows
    return found


def write_pack(table: str, inputs: Iterable[Path], target: Path) -> int:
    """Writes the rows of files to `target`, a part per file, and returns their number. Raises `LakeDamaged`."""
    parts: list[Part] = []
    schema = stamp_version(fit(table, pa.table({}))).schema
    with pq.ParquetWriter(target, schema, compression="zstd", write_page_checksum=True) as writer:
        held: list[pa.Table] = []
        size = 0
        for path in inputs:
            own = [fit(table, rows).replace_schema_metadata(schema.metadata) for rows in read_rows(path)]
            parts += list_parts(path) if is_pack(path) else [(path.stem, sum(rows.num_rows for rows in own))]
            held += own
            size += sum(rows.nbytes for rows in own)
            if size >= GROUP_BYTES:
                _write_groups(writer, held)
                held, size = [], 0
        _write_groups(writer, held)
        writer.add_key_value_metadata({PARTS: orjson.dumps(parts)})
    return sum(rows for _, rows in parts)


def _write_groups(writer: pq.ParquetWriter, held: Sequence[pa.Table]) -> None:
    rows = pa.concat_tables(held) if held else None
    if rows is not None and rows.num_rows:
        groups = max(1, round(rows.nbytes / GROUP_BYTES))
        writer.write_table(rows, row_group_size=min(GROUP_ROWS, -(-rows.num_rows // groups)))


def read_rows(path: Path) -> Iterator[pa.Table]:
    """The rows of a file by row group, checked by the pages' checksums. Raises `LakeDamaged`."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise LakeDamaged(unreadable(path, error)) from error


def read_parts(path: Path) -> Iterator[tuple[str, pa.Table]]:
    """The parts of a compacted file with their rows. Raises `LakeDamaged`."""
    groups = read_rows(path)
    held = pa.concat_tables([next(groups, pq.read_schema(path).empty_table())])
    for name, rows in list_parts(path):
        while held.num_rows < rows:
            held = pa.concat_tables([held, next(groups)])
        yield name, held.slice(0, rows)
        held = held.slice(rows)
