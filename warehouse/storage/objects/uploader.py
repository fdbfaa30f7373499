"""Uploads journal lines to shared storage, and renews the run's lease."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from biasgrid.warehouse.storage.disk_reserve import Reserve
from biasgrid.warehouse.storage.errors import StorageTrouble
from biasgrid.warehouse.storage.objects.leases import RENEWED_S, Lease
from biasgrid.warehouse.storage.objects.mirror import SharedStorage
from biasgrid.warehouse.storage.objects.segments import new_segment_name

EVERY_S = 2.0
"""Seconds between segments: the replies of at most this time are lost with a machine."""


class Uploader:
    """Uploads for one run in one process, in a thread. Errors are recorded in the run's `Reserve`."""

    _of_runs: dict[Path, Uploader] = {}  # noqa: RUF012 - of the process, as reserves are

    def __init__(self, shared: SharedStorage, folder: Path, lease: Lease) -> None:
        self.folder = folder
        self._shared, self._lease = shared, lease
        self._waiting: dict[str, list[bytes]] = {}
        self._sent: set[str] = set()
        self._brought: set[Path] = set()
        self._sending, self._handing = threading.Lock(), threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="courier", daemon=True)

    @classmethod
    def of(cls, folder: Path) -> Uploader | None:
        """The uploader of the run whose journals are in `folder`; None if this process does not write it or the
        lake is not shared."""
        return cls._of_runs.get(folder)

    def start(self) -> None:
        self._of_runs[self.folder] = self
        self._thread.start()

    def end(self) -> None:
        """Uploads waiting lines and releases the lease, unless there was an error."""
        self._ended.set()
        self._thread.join()
        self._of_runs.pop(self.folder, None)
        with suppress(StorageTrouble):  # local journals are converted at the next start, and the lease expires
            if Reserve.of(self.folder).trouble is None:
                self._send()
                self._lease.give_back()

    def bring(self, folder: Path) -> None:
        """Downloads a folder of the run, once: afterwards only this process writes the files it needs of it."""
        if folder not in self._brought:
            self._shared.bring(folder)
            self._brought.add(folder)

    def hand(self, cell_id: str, line: bytes) -> None:
        """Queues a line of a cell's journal; returns at once."""
        with self._handing:
            self._waiting.setdefault(cell_id, []).append(line)

    def remove_segments(self, cell_id: str) -> None:
        """Removes a cell's segments, whose journal is now Parquet. Raises `StorageTrouble`."""
        with self._sending:
            with self._handing:
                self._waiting.pop(cell_id, None)
            if cell_id in self._sent:
                self._shared.bucket.remove_all(f"{self._shared.name(self.folder)}/{cell_id}")
                self._sent.discard(cell_id)

    def _work(self) -> None:
        renewed = time.monotonic()
        while not self._ended.wait(EVERY_S):
            try:
                self._send()
                if time.monotonic() - renewed >= RENEWED_S:
                    self._renew(renewed)
                    renewed = time.monotonic()
            except StorageTrouble as trouble:
                Reserve.of(self.folder).spend(trouble)
                return

    def _send(self) -> None:
        with self._sending:
            with self._handing:
                waiting, self._waiting = self._waiting, {}
            with self._conditions(waiting):
                for cell_id in list(waiting):
                    self._sent.add(cell_id)  # even on failure: a part may have been stored
                    name = new_segment_name(self._shared, self.folder, cell_id)
                    self._shared.bucket.send(b"".join(waiting[cell_id]), name)
                    del waiting[cell_id]

    @contextmanager
    def _conditions(self, waiting: dict[str, list[bytes]]) -> Iterator[None]:
        """Queues lines again if the upload fails, before later ones."""
        try:
            yield
        finally:
            with self._handing:
                for cell_id, lines in waiting.items():
                    self._waiting[cell_id] = lines + self._waiting.get(cell_id, [])

    def _renew(self, renewed: float) -> None:
        if not self._lease.renew():
            late = time.monotonic() - renewed
            raise StorageTrouble(
                str(self._shared.address),
                errno.EIO,
                why=f"is now written by another machine: this one did not renew its lease for {late:.0f} s",
            )
