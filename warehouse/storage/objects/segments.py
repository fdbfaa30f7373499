"""Journal segments in a bucket: replies that a machine has uploaded but not yet converted to Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ulid import ULID

from biasgrid.warehouse.storage.objects.mirror import AT_ONCE, SharedStorage

SUFFIX = ".jsonl"


def new_segment_name(shared: SharedStorage, folder: Path, cell_id: str) -> str:
    """A name in the bucket that sorts after the cell's earlier segments; `folder` holds the run's journals."""
    return f"{shared.name(folder)}/{cell_id}/{ULID()}{SUFFIX}"


def interrupted_runs(shared: SharedStorage) -> list[str]:
    """Ids of the runs that have segments in the bucket: running on some machine, or interrupted."""
    names = shared.bucket.list_objects("journal")
    return sorted({name.split("/")[1].removeprefix("run_id=") for name in names if name.count("/") > 1})


def find_segments(shared: SharedStorage, folder: Path) -> dict[str, list[str]]:
    """The names of a run's segments by cell, oldest first."""
    found: dict[str, list[str]] = {}
    for name in sorted(shared.bucket.list_objects(shared.name(folder))):
        cell_id = name.split("/")[-2]
        if name.endswith(SUFFIX):
            found.setdefault(cell_id, []).append(name)
    return found


def write_journal(shared: SharedStorage, names: Sequence[str], journal: Path) -> None:
    """Writes the lines of segments to a journal, in their order."""
    with journal.open("wb") as lines, ThreadPoolExecutor(AT_ONCE) as readers:
        lines.writelines(readers.map(shared.bucket.read, names))
