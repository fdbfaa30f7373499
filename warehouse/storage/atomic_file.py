"""Files that are whole or not there: written next to their path, synced, then renamed to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ulid import ULID

PARTIAL = ".*.partial*"
"""What a killed process may leave behind; it is never read."""


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yields a path to write to. On success it becomes `path`; on any error it goes and `path` stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.parent / f".{ULID()}.partial"
    try:
        yield partial
        _sync(partial)
        partial.replace(path)
        _sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def remove_partial_files(folder: Path) -> None:
    """Removes what killed writers left in `folder`. The caller holds the lock on it."""
    for partial in folder.glob(PARTIAL):
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
