"""The manifest of a run: size, SHA-256 and number of rows of each of its files.

A run signs its files when it ends. Files that land before are in a log next to the manifest, on this machine only.
A file of the manifest or the log that has other bytes is damaged; files in neither have page checksums at most.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import orjson

from biasgrid.catalogs.errors import Problem
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.journal_lines import seal, unseal

MANIFESTS = "manifests"
"""The folder below `lake` that has one folder per run."""
FILE, LOG = "manifest.json", "landed.jsonl"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file as it was written."""

    size: int
    sha256: str
    rows: int

    @classmethod
    def of(cls, path: Path, rows: int) -> Entry:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
        return cls(path.stat().st_size, digest.hexdigest(), rows)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The signed files of a run, and compacted files whose rows count in separate files again. Files are named
    `table/name.parquet`."""

    files: Mapping[str, Entry] = field(default_factory=dict)
    retired: frozenset[str] = frozenset()

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest in a run's folder; an empty one if there is none. Raises `LakeDamaged`."""
        path = folder / FILE
        try:
            stat = path.stat()
        except FileNotFoundError:
            return cls()
        return _read(path, stat.st_mtime_ns, stat.st_ino, stat.st_size)

    def as_bytes(self) -> bytes:
        """The contents of the file."""
        files = {name: [entry.size, entry.sha256, entry.rows] for name, entry in sorted(self.files.items())}
        return seal(orjson.dumps({"files": files, "retired": sorted(self.retired)}))


@lru_cache(maxsize=4096)
def _read(path: Path, *_version: int) -> Manifest:
    text = unseal(path.read_bytes())
    try:
        found = orjson.loads(text or b"")
        files = {name: Entry(*entry) for name, entry in found["files"].items()}
        return Manifest(files, frozenset(found["retired"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        run_id = path.parent.name.removeprefix("run_id=")
        what = f"the manifest of run `{run_id}` does not have the contents that were written"
        raise LakeDamaged(Problem(what, str(path), "`biasgrid warehouse verify` makes it again")) from error


def key_of(path: Path) -> str:
    """The name of a file in its run's manifest."""
    return f"{path.parent.parent.name}/{path.name}"


def log_landed(folder: Path, name: str, entry: Entry, *, replaces: bool) -> None:
    """Adds a file to the log, before it gets its name: a file that replaces another must match one of both."""
    folder.mkdir(parents=True, exist_ok=True)
    line = seal(orjson.dumps([name, entry.size, entry.sha256, entry.rows]).join((b'{"file":', b"}")))
    log = os.open(folder / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(log, line)
        if replaces:  # without its line, the file would not match the line of the file before
            os.fsync(log)
    finally:
        os.close(log)


def read_log(folder: Path) -> dict[str, list[Entry]]:
    """The versions of each file that have landed since the manifest was signed; none if the log is damaged."""
    try:
        lines = (folder / LOG).read_bytes().splitlines()
    except FileNotFoundError:
        return {}
    found: dict[str, list[Entry]] = {}
    for line in lines:
        try:
            name, *entry = orjson.loads(unseal(line) or b"")["file"]
            found.setdefault(name, []).append(Entry(*entry))
        except (ValueError, KeyError, TypeError):
            return {}  # a version may be missing, so that none can be called damaged
    return found
