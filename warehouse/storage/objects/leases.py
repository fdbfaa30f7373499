"""Leases on shared storage: one object per lease, renewed while its holder is alive.

No conditional put is needed, which some servers lack: a machine puts its lease, then lists all; if it sees
another's, it removes its own and retries. If two put at once, both may retry, but never do both continue. Ages are
measured by the server's clock alone.
"""

from __future__ import annotations

import errno
import os
import platform
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import orjson
from ulid import ULID

from biasgrid.warehouse.storage.errors import StorageTrouble
from biasgrid.warehouse.storage.objects.bucket import Bucket, Entry
from biasgrid.warehouse.storage.objects.mirror import SharedStorage


@dataclass(frozen=True, slots=True)
class Machine:
    """One per mirror: two mirrors on one computer are two machines."""

    id: str

    @classmethod
    def of(cls, root: Path) -> Machine:
        """The machine with its mirror at `root`."""
        path = root / "machine"
        try:
            root.mkdir(parents=True, exist_ok=True)
            written = path.with_name(f".{ULID()}.partial")
            written.write_text(str(ULID()), encoding="ascii")
            os.link(written, path)  # the first one is kept
        except FileExistsError:
            pass
        finally:
            written.unlink(missing_ok=True)
        return cls(path.read_text(encoding="ascii"))

    def as_json(self) -> bytes:
        """Its name and this process, to show users who holds a lease."""
        return orjson.dumps({"host": platform.node(), "process": os.getpid()})


FOLDER = "locks"
EXPIRES_S = 60.0
RENEWED_S = 10.0
TRIES = 4


class LeaseTaken(Exception):
    """Another machine holds the lease: its name, if known, and the time of the last renewal."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


@dataclass(slots=True)
class Lease:
    """A lease on `subject`, a name in the lake. `+` and a part at the end limit it to that part; a lease on the
    whole excludes all parts."""

    bucket: Bucket
    subject: str
    machine: Machine
    _own: str = field(default="", init=False)
    _expired: set[str] = field(default_factory=set, init=False)
    """Expired leases that were removed when this one was taken."""

    def take(self) -> None:
        """Raises `LeaseTaken`, at once or within seconds, and `StorageTrouble`. The caller holds the lock of the
        same name on this machine: left-over leases of this machine are removed."""
        before: set[str] = set()
        for _ in range(TRIES):
            self._own = f"{FOLDER}/{self.subject}~{self.machine.id}~{ULID()}.json"
            own = self.bucket.put_bytes(self.machine.as_json(), self._own)
            live = self._live(own)
            if not live:
                return
            self.give_back()
            if before & live:
                break
            before = live
            time.sleep(random.uniform(0.2, 1.0))  # noqa: S311 - no secret
        raise LeaseTaken(self._holder(min(live)))

    def renew(self) -> bool:
        """Whether the lease is still held. Raises `StorageTrouble`."""
        there = self.bucket.list_objects(FOLDER)
        if self._own not in there:
            return False
        for name in self._expired & there.keys():  # a removed lease that its holder has renewed before noticing
            self.bucket.remove(name)
        self.bucket.send(self.machine.as_json(), self._own)
        return True

    def give_back(self) -> None:
        """Removes the lease. If it raises `StorageTrouble`, the lease expires by itself."""
        self.bucket.remove(self._own)

    def _live(self, own: Entry) -> set[str]:
        """Other machines' leases that conflict with this one; expired ones are removed."""
        found = {name: entry for name, entry in self.bucket.list_objects(FOLDER).items() if self._is_rival(name)}
        oldest = own.written - timedelta(seconds=EXPIRES_S)
        dead = {name for name, entry in found.items() if entry.written < oldest or self._is_of_this_machine(name)}
        for name in dead:
            self.bucket.remove(name)
        self._expired |= dead
        return found.keys() - dead

    def _is_rival(self, name: str) -> bool:
        subject = name.removeprefix(f"{FOLDER}/").partition("~")[0]
        whole, part = sorted((subject, self.subject), key=len)
        return name != self._own and (whole == part or part.startswith(f"{whole}+"))

    def _is_of_this_machine(self, name: str) -> bool:
        return name.split("~")[1:2] == [self.machine.id]

    def _holder(self, name: str) -> str:
        try:
            return str(orjson.loads(self.bucket.read(name))["host"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return "another machine"


PAUSE_S = 2.0


class Turn:
    """A held lease, renewed in a thread until it ends."""

    def __init__(self, shared: SharedStorage, lease: Lease) -> None:
        self._shared, self._lease = shared, lease
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="turn", daemon=True)
        self.is_ours = True
        """False after this machine could not renew for so long that another one may have taken the lease."""

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        if self.is_ours:
            self._lease.give_back()

    def publish(self, written: Path, path: Path) -> None:
        """Like `SharedStorage.replace`. Raises `StorageTrouble` if the lease may have expired, since another
        machine may have published a newer file."""
        if not self.is_ours:
            why = "is not replaced: this machine lost touch, and another may have built a newer one"
            raise StorageTrouble(self._shared.address.url(self._shared.name(path)), errno.EIO, why=why)
        self._shared.replace(written, path)

    def _renew(self) -> None:
        while self.is_ours and not self._ended.wait(RENEWED_S):
            try:
                self.is_ours = self._lease.renew()
            except StorageTrouble:
                self.is_ours = False


@contextmanager
def take_turns(shared: SharedStorage | None, subject: str) -> Iterator[Turn | None]:
    """Waits until no other machine holds `subject`; None if the lake is not shared. The caller holds the lock of
    the same name on this machine. Raises `StorageTrouble`."""
    if shared is None:
        yield None
        return
    turn = Turn(shared, _wait_for(Lease(shared.bucket, subject, Machine.of(shared.root))))
    turn.begin()
    try:
        yield turn
    finally:
        turn.end()


def _wait_for(lease: Lease) -> Lease:
    while True:
        try:
            lease.take()
        except LeaseTaken:
            time.sleep(PAUSE_S)
        else:
            return lease
