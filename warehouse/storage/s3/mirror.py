"""A lake on S3-compatible storage, and this machine's mirror of it.

The bucket is the truth: a file is put there whole before it has its name in the mirror, which holds nothing else
but journals of what is under way. Files are compared by size and by the second in which the bucket says that they
were written, which a copy has as its own time.
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
from biasgrid.warehouse.storage.s3.address import Address, endpoint
from biasgrid.warehouse.storage.s3.bucket import Bucket, Entry

CACHE = "BIASGRID_CACHE"
"""The environment variable that names the folder of mirrors."""

OWN = 0o700
"""Replies are private to the user of this machine, unless the owner wants otherwise."""

AT_ONCE = 8
"""Files sent or received side by side."""


class SharedStorage:
    """What several machines share, with one mirror of it."""

    def __init__(self, address: Address, root: Path) -> None:
        self.address, self.root = address, root
        self.bucket = Bucket(address)
        self._listing = threading.Lock()

    @classmethod
    def at(cls, address: Address) -> SharedStorage:
        """The same one for an address, a server and a folder of mirrors, in this process."""
        return _shared(address, endpoint(), _mirrors())

    def refuse_unwritable(self) -> None:
        """Makes the mirror. Raises `UserError` where the bucket cannot be listed, written or read."""
        self.bucket.names()
        self.bucket.refuse_unwritable()
        self.root.mkdir(parents=True, exist_ok=True, mode=OWN)

    def __reduce__(self) -> tuple[Any, ...]:
        return SharedStorage.at, (self.address,)

    def name(self, path: Path) -> str:
        """What a path of the mirror is called in the bucket."""
        return path.relative_to(self.root).as_posix()

    def bring(self, folder: Path) -> None:
        """Makes a folder of the mirror as it is in the bucket. Raises `StorageTrouble`."""
        with self._listing:
            # before the bucket: what another process puts meanwhile has its name there first
            before = _files(folder)
            listed = self.bucket.listed(self.name(folder))
            there = {self.root / name: entry for name, entry in listed.items() if not _hidden(Path(name))}
            for gone in before.keys() - there.keys():
                gone.unlink(missing_ok=True)
            self._fetch({path: entry for path, entry in there.items() if before.get(path) != _mark(entry)})

    def bring_file(self, path: Path) -> bool:
        """As `bring`, of one file; a process that has it open keeps the old one. Returns whether there is one."""
        with self._listing:
            entry = self.bucket.seen(self.name(path))
            if entry is None:
                path.unlink(missing_ok=True)
                return False
            if _mark_of(path) != _mark(entry):
                self._fetch({path: entry})
            return path.exists()

    def publish(self, written: Path, path: Path) -> None:
        """Puts a finished file in the bucket under the name of `path`, and gives it the time that it has there.
        Raises `StorageTrouble`."""
        _stamp(written, self.bucket.put(written, self.name(path)))

    def replace(self, written: Path, path: Path) -> None:
        """As `publish`, of a file that others have an earlier one of: by its size, and the second of its writing,
        they see that it is another."""
        name = self.name(path)
        earlier, published = self.bucket.seen(name), self.bucket.put(written, name)
        while earlier and _mark(published) == _mark(earlier):
            time.sleep(1)
            published = self.bucket.put(written, name)
        _stamp(written, published)

    def publish_folder(self, folder: Path) -> None:
        """Puts all files of a folder, then removes from the bucket what it holds no more. Raises as `publish`."""
        paths = [path for path in folder.rglob("*") if path.is_file()]
        _together(lambda path: self.publish(path, path), paths)
        kept = {self.name(path) for path in paths}
        _together(self.bucket.remove, self.bucket.listed(self.name(folder)).keys() - kept)

    def _fetch(self, wanted: Mapping[Path, Entry]) -> None:
        _together(lambda path: self._fetch_one(path, wanted[path]), wanted)

    def _fetch_one(self, path: Path, entry: Entry) -> None:
        # in a folder of its own: no process that removes partial files removes it
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
    """The files below a folder, each with what shows whether it is the bucket's."""
    return {path: _mark_of(path) for path in folder.rglob("*") if not _hidden(path) and path.is_file()}


def _hidden(path: Path) -> bool:
    return path.name.startswith(".")


def _mark(entry: Entry) -> tuple[int, int]:
    """Whole seconds: a listing may have parts of one, the answer to a put has not."""
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
    """Does the same for each, several at once; raises the first error when all have ended."""
    asked = list(subjects)
    if len(asked) == 1:
        work(asked[0])
    elif asked:
        with ThreadPoolExecutor(min(AT_ONCE, len(asked))) as threads:
            for done in [threads.submit(work, subject) for subject in asked]:
                done.result()
