"""Leases on shared storage: one object per lease, renewed while its holder is alive.

A server with conditional puts allows one machine to create a lease, to take over an expired one, or to renew its
own. On other servers, each machine puts a lease of its own name, then lists all; if it sees another's, it removes
its own and retries: if two put at once, both may retry, but never do both continue. Leases of parts of a run are
compared with that of the whole in this way on all servers. Ages are measured by the server's clock alone.
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
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from ulid import ULID

from biasgrid.warehouse.storage.errors import StorageTrouble
from biasgrid.warehouse.storage.objects.bucket import Bucket, Entry
from biasgrid.warehouse.storage.objects.mirror import SharedStorage

if TYPE_CHECKING:
    from obstore import UpdateVersion


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
        """Its name and this process, to show users who holds a lease. No two are the same, so that each renewal
        has a version of its own."""
        return orjson.dumps(
            {"host": platform.node(), "process": os.getpid(), "machine": self.id, "id": str(ULID())}
        )


FOLDER = "locks"
EXPIRES_S = 60.0
RENEWED_S = 10.0
TRIES = 4
COMMON = "~.json"
"""End of the name of a lease that all machines share; otherwise the name contains the machine's id."""


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
    _version: UpdateVersion | None = field(default=None, init=False)
    """The version that this machine wrote; None if the server has no conditional puts or if it lost the lease."""
    _expired: set[str] = field(default_factory=set, init=False)
    """Expired leases that were removed when this one was taken."""

    def take(self) -> None:
        """Raises `LeaseTaken`, at once or within seconds, and `StorageTrouble`. The caller holds the lock of the
        same name on this machine: left-over leases of this machine are removed."""
        before: set[str] = set()
        for _ in range(TRIES):
            live = self._claim()
            if not live:
                return
            if before & live:
                break
            before = live
            time.sleep(random.uniform(0.2, 1.0))  # noqa: S311 - no secret
        raise LeaseTaken(str(self._read(min(live)).get("host", "another machine")))

    def renew(self) -> bool:
        """Whether the lease is still held. Raises `StorageTrouble`."""
        if self._is_common:
            self._version = self._version and self._put(self._own, self._version)
            return self._version is not None
        there = self.bucket.list_objects(FOLDER)
        if self._own not in there:
            return False
        for name in self._expired & there.keys():  # a removed lease that its holder has renewed before noticing
            self.bucket.remove(name)
        self.bucket.send(self.machine.as_json(), self._own)
        return True

    def give_back(self) -> None:
        """Removes the lease. If it raises `StorageTrouble`, the lease expires by itself."""
        if not self._is_common:
            self.bucket.remove(self._own)
        elif self._version:
            self._end(self._own, self._version)
            self._version = None

    @property
    def _is_common(self) -> bool:
        return self._own.endswith(COMMON)

    def _claim(self) -> set[str]:
        """Puts the lease, or gives way to conflicting leases of other machines and returns their names."""
        if self.bucket.is_conditional():
            self._own = f"{FOLDER}/{self.subject}{COMMON}"
            self._version = self._put(self._own, None) or self._take_over()
            if self._version is None:
                return {self._own}
        else:
            self._own = f"{FOLDER}/{self.subject}~{self.machine.id}~{ULID()}.json"
            self.bucket.send(self.machine.as_json(), self._own)
        live = self._live()
        if live:
            self.give_back()
        return live

    def _put(self, name: str, earlier: UpdateVersion | None) -> UpdateVersion | None:
        return self.bucket.put_if(self.machine.as_json(), name, earlier)

    def _take_over(self) -> UpdateVersion | None:
        """Replaces an expired lease of the same name, or one left over from this machine; None if it is live."""
        clock = f"{FOLDER}/clock~{self.machine.id}~{ULID()}.json"
        now = self.bucket.put_bytes(self.machine.as_json(), clock).written
        self.bucket.remove(clock)
        held = self.bucket.find_object(self._own)
        if held is None or not self._is_over(self._own, held, now):
            return None
        return self._put(self._own, held.version)

    def _live(self) -> set[str]:
        """Other machines' leases that conflict with this one; expired ones are removed."""
        there = self.bucket.list_objects(FOLDER)
        if self._own not in there:
            raise self.bucket.trouble(self._own, "is not listed: the server does not list what was just written")
        now = there[self._own].written
        rivals = {name for name in there if self._is_rival(name)}
        return {
            name for name in rivals if not self._is_over(name, there[name], now) or not self._remove(name, now)
        }

    def _is_over(self, name: str, lease: Entry, now: datetime) -> bool:
        return lease.written < now - timedelta(seconds=EXPIRES_S) or self._machine_of(name) == self.machine.id

    def _remove(self, name: str, now: datetime) -> bool:
        """Removes a lease that is over; False if it was renewed meanwhile."""
        if not name.endswith(COMMON):
            self.bucket.remove(name)
            self._expired.add(name)
            return True
        found = self.bucket.find_object(name)
        return found is None or (self._is_over(name, found, now) and self._end(name, found.version))

    def _end(self, name: str, version: UpdateVersion) -> bool:
        """Removes a lease, if it is of that version."""
        # there is no conditional removal: overwritten, it can be neither renewed nor taken before it has expired
        ended = self._put(name, version)
        if ended:
            self.bucket.remove(name)
        return ended is not None

    def _is_rival(self, name: str) -> bool:
        subject = name.removeprefix(f"{FOLDER}/").partition("~")[0]
        whole, part = sorted((subject, self.subject), key=len)
        return name != self._own and (whole == part or part.startswith(f"{whole}+"))

    def _machine_of(self, name: str) -> str:
        """The id of the machine that wrote a lease."""
        return str(self._read(name).get("machine")) if name.endswith(COMMON) else name.split("~")[1]

    def _read(self, name: str) -> dict[str, Any]:
        try:
            found = orjson.loads(self.bucket.read(name))
        except orjson.JSONDecodeError:
            return {}
        return found if isinstance(found, dict) else {}


def is_held_elsewhere(shared: SharedStorage, *subjects: str) -> bool:
    """Whether another machine has renewed a lease on one of these subjects or on a part of one."""
    # by this machine's clock, since asking for the server's would take a write
    machine, oldest = Machine.of(shared.root), datetime.now(UTC) - timedelta(seconds=EXPIRES_S)
    of_machine = Lease(shared.bucket, "", machine)._machine_of
    recent = (name for name, entry in shared.bucket.list_objects(FOLDER).items() if entry.written > oldest)
    held = (
        name for name in recent if name.removeprefix(f"{FOLDER}/").partition("~")[0].partition("+")[0] in subjects
    )
    return any(of_machine(name) != machine.id for name in held)


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
