"""A local mirror of a lake on object storage.

The bucket is authoritative: a file is uploaded before it gets its name in the mirror, which otherwise contains
only journals of running runs. Files are compared by size and by the bucket's write time in seconds, which a copy
has as its modification time.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from ulid import ULID

from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.errors import storing
from biasgrid.warehouse.storage.objects.address import Address
from biasgrid.warehouse.storage.objects.bucket import Bucket, Entry

CACHE = "BIASGRID_CACHE"
"""Environment variable with the folder of mirrors."""

OWN = 0o700
"""Permissions: replies are private to the user of this machine by default."""

AT_ONCE = 8
"""Number of files sent or received in parallel."""


class SharedStorage:
    """Storage shared by several machines, with a local mirror."""

    def __init__(self, address: Address, root: Path) -> None:
        self.address, self.root = address, root
        self.bucket = Bucket(address)
        self._listing = threading.Lock()

    @classmethod
    def at(cls, address: Address) -> SharedStorage:
        """The instance for an address, a server and a folder of mirrors; one per process."""
        return _shared(address, address.cloud.endpoint(), _mirrors())

    def refuse_unwritable(self) -> None:
        """Creates the mirror. Raises `UserError` if the bucket cannot be listed, written or read."""
        self.bucket.names()
        self.bucket.refuse_unwritable()
        self.root.mkdir(parents=True, exist_ok=True, mode=OWN)

    def __reduce__(self) -> tuple[Any, ...]:
        return SharedStorage.at, (self.address,)

    def name(self, path: Path) -> str:
        """The name in the bucket of a path in the mirror."""
        return path.relative_to(self.root).as_posix()

    def bring(self, folder: Path) -> None:
        """Updates a folder of the mirror from the bucket. Raises `StorageTrouble`."""
        with self._listing:
            # listed before the bucket, because other processes upload a file before they name it here
            before = _files(folder)
            listed = self.bucket.list_objects(self.name(folder))
            there = {self.root / name: entry for name, entry in listed.items() if not _is_hidden(Path(name))}
            for gone in before.keys() - there.keys():
                gone.unlink(missing_ok=True)
            self._fetch({path: entry for path, entry in there.items() if before.get(path) != _mark(entry)})

    def bring_file(self, path: Path) -> bool:
        """Like `bring`, for one file; open copies keep the old contents. Returns whether it exists."""
        with self._listing:
            entry = self.bucket.find_object(self.name(path))
            if entry is None:
                path.unlink(missing_ok=True)
                return False
            if _mark_of(path) != _mark(entry):
                self._fetch({path: entry})
            return path.exists()

    def publish(self, written: Path, path: Path) -> None:
        """Uploads a finished file under the name of `path`, and sets its time to the bucket's. Raises
        `StorageTrouble`."""
        _stamp(written, self.bucket.put(written, self.name(path)))

    def replace(self, written: Path, path: Path) -> None:
        """Like `publish`, for a file with an earlier version: guarantees a different size or write time."""
        name = self.name(path)
        earlier, published = self.bucket.find_object(name), self.bucket.put(written, name)
        while earlier and _mark(published) == _mark(earlier):
            time.sleep(1)
            published = self.bucket.put(written, name)
        _stamp(written, published)

    def publish_folder(self, folder: Path) -> None:
        """Uploads all files of a folder, then removes deleted ones from the bucket. Raises the errors of
        `publish`."""
        paths = [path for path in folder.rglob("*") if path.is_file()]
        _together(lambda path: self.publish(path, path), paths)
        kept = {self.name(path) for path in paths}
        _together(self.bucket.remove, self.bucket.list_objects(self.name(folder)).keys() - kept)

    def _fetch(self, wanted: Mapping[Path, Entry]) -> None:
        _together(lambda path: self._fetch_one(path, wanted[path]), wanted)

    def _fetch_one(self, path: Path, entry: Entry) -> None:
        # in a folder of its own, which no other process cleans up
        partial = self.root / "arriving" / str(ULID())
        with storing(path):
            self.root.mkdir(parents=True, exist_ok=True, mode=OWN)
            partial.parent.mkdir(exist_ok=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self.bucket.get(self.name(path), partial)
                _stamp(partial, entry)
                partial.replace(path)
            except FileNotFoundError:  # removed since it was listed
                return
            finally:
                partial.unlink(missing_ok=True)


@cache
def _shared(address: Address, _server: str, mirrors: Path) -> SharedStorage:
    own = content_hash(str(address), _server)[:12]
    return SharedStorage(address, mirrors / f"{address.bucket}-{own}")


def _mirrors() -> Path:
    if named := os.environ.get(CACHE):
        return Path(named).expanduser().absolute()
    usual = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(usual).expanduser().absolute() / "biasgrid"


def _files(folder: Path) -> dict[Path, tuple[int, int] | None]:
    """The files below a folder, each with its size and time for comparison with the bucket."""
    return {path: _mark_of(path) for path in folder.rglob("*") if not _is_hidden(path) and path.is_file()}


def _is_hidden(path: Path) -> bool:
    return path.name.startswith(".")


def _mark(entry: Entry) -> tuple[int, int]:
    """Size and time in whole seconds: a listing may have fractions, the answer to a put has none."""
    return entry.size, int(entry.written.timestamp())


def _mark_of(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_size, int(stat.st_mtime)


def _stamp(path: Path, entry: Entry) -> None:
    when = int(entry.written.timestamp())
    os.utime(path, (when, when))


def _together(work: Any, subjects: Iterable[Any]) -> None:
    """Calls `work` on all subjects in parallel; raises the first error after all have ended."""
    asked = list(subjects)
    if len(asked) == 1:
        work(asked[0])
    elif asked:
        with ThreadPoolExecutor(min(AT_ONCE, len(asked))) as threads:
            for done in [threads.submit(work, subject) for subject in asked]:
                done.result()
