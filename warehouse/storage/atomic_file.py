"""Writes files atomically: to a temporary path, synced, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ulid import ULID

PARTIAL = ".*.partial*"
"""Pattern of temporary files, which are never read; a killed process may leave some."""


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yields a temporary path that becomes `path` on success; on any error `path` is unchanged."""
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
    """Removes temporary files of killed processes from `folder`. The caller holds its lock."""
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
