"""Work that machines do one after the other, such as building the warehouse that they share."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from biasgrid.warehouse.storage.errors import StorageTrouble
from biasgrid.warehouse.storage.s3.host_id import Machine
from biasgrid.warehouse.storage.s3.leases import RENEWED_S, Lease, Taken
from biasgrid.warehouse.storage.s3.mirror import SharedStorage

PAUSE_S = 2.0


class Turn:
    """Whose turn it is; renewed in a thread until it ends."""

    def __init__(self, shared: SharedStorage, lease: Lease) -> None:
        self._shared, self._lease = shared, lease
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="turn", daemon=True)
        self.is_ours = True
        """False once this machine was not heard of for so long that it may be another's turn."""

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        if self.is_ours:
            self._lease.give_back()

    def publish(self, written: Path, path: Path) -> None:
        """As `SharedStorage.replace`. Raises `StorageTrouble` where the lease may have expired: another machine may
        have published a newer file."""
        if not self.is_ours:
            why = "is not replaced: this machine lost touch, and another may have built a newer one"
            raise StorageTrouble(self._shared.address.told(self._shared.name(path)), errno.EIO, why=why)
        self._shared.replace(written, path)

    def _renew(self) -> None:
        while self.is_ours and not self._ended.wait(RENEWED_S):
            try:
                self.is_ours = self._lease.renew()
            except StorageTrouble:
                self.is_ours = False


@contextmanager
def taking_turns(shared: SharedStorage | None, subject: str) -> Iterator[Turn | None]:
    """Waits until no other machine holds `subject`; None where the lake is not shared. The caller holds the lock of
    the same name on this machine. Raises `StorageTrouble`."""
    if shared is None:
        yield None
        return
    turn = Turn(shared, _taken(Lease(shared.bucket, subject, Machine.of(shared.root))))
    turn.begin()
    try:
        yield turn
    finally:
        turn.end()


def _taken(lease: Lease) -> Lease:
    while True:
        try:
            lease.take()
        except Taken:
            time.sleep(PAUSE_S)
        else:
            return lease
