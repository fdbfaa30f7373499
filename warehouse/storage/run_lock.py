"""Allows one writer per run: by a file lock within a machine, by a lease between machines with shared storage."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import filelock

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.disk_reserve import Reserve
from biasgrid.warehouse.storage.errors import StorageTrouble, storing
from biasgrid.warehouse.storage.lake import Lake, check_name
from biasgrid.warehouse.storage.objects.leases import EXPIRES_S, Lease, LeaseTaken, Machine
from biasgrid.warehouse.storage.objects.uploader import Uploader

BEGINNING_S = 10.0
"""Maximum wait in seconds of a starting part for other starting parts."""


class RunBusy(UserError):
    """Another process writes this run."""

    @classmethod
    def named(cls, run_id: str, host: str = "") -> RunBusy:
        """The error for a run; `host` holds it on shared storage."""
        what = f"run `{run_id}` is being written by another process{f' on `{host}`' if host else ''}"
        lost = f"; if that machine is lost, its hold on the run ends after {EXPIRES_S:.0f} s" if host else ""
        return cls(Problem(what, remedy=f"wait until it ends, or stop it, then try again{lost}"))


class RunLock:
    """Lock on a run or on a part of a run, with reserved disk space. It ends with its process, so a killed process
    leaves no lock; on shared storage it expires a minute after the machine is lost.

    Parts are for processes that share a run, each with its own cells. A lock on the whole run excludes all parts.
    """

    def __init__(self, lake: Lake, run_id: str, part: str | None = None) -> None:
        """`part` is any text."""
        self.run_id = run_id
        self._lake, self._journals = lake, lake.journal_folder(run_id)
        self._whole = f"run-{check_name(run_id)}"
        self._part = None if part is None else content_hash(part)[:16]
        self._subject = self._whole if self._part is None else f"{self._whole}+{self._part}"
        # one lock per path in a process, so that the process that writes a run can also recover it
        self._path = lake.locks / f"{self._subject}.lock"
        self._lock = _file_lock(self._path)

    def __enter__(self) -> RunLock:
        """Raises `RunBusy` if another process holds the lock, `StorageTrouble` if there is no disk space."""
        try:
            with storing(self._path):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._acquire()
        except filelock.Timeout as error:
            raise RunBusy.named(self.run_id) from error
        try:
            self._hold()
        except StorageTrouble as trouble:
            self._lock.release()
            raise trouble.of_run(self.run_id, 0) from trouble
        except BaseException:  # Ctrl-C too must leave no lock behind
            self._lock.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raises `StorageTrouble` in place of errors that it caused, once and with the number of lost replies."""
        reserve = Reserve.of(self._journals)
        if self._lock.lock_counter == 1:
            if courier := Uploader.of(self._journals):
                courier.end()
            reserve.release()
        self._lock.release()
        if isinstance(error, Exception) and not self._lock.is_locked:
            self._raise_cause(error, reserve)

    def _acquire(self) -> None:
        if self._subject == self._whole:
            self._lock.acquire()
            return
        # parts start one at a time, while no process of this machine locks the whole run
        with _file_lock(self._path.with_name(f"{self._whole}.lock")).acquire(timeout=BEGINNING_S):
            self._lock.acquire()

    def _raise_cause(self, error: Exception, reserve: Reserve) -> None:
        is_reported = isinstance(error, StorageTrouble) and error.run_id is not None
        trouble = reserve.trouble or (error if isinstance(error, StorageTrouble) else None)
        if trouble is not None and not is_reported:
            raise trouble.of_run(self.run_id, reserve.lost) from error

    def _hold(self) -> None:
        if self._lock.lock_counter > 1:
            return
        if self._subject == self._whole:
            self._refuse_parts()
        if self._lake.shared is None:
            Reserve.hold(self._journals, self._part)
            return
        lease = Lease(self._lake.shared.bucket, self._subject, Machine.of(self._lake.root))
        with ExitStack() as undone:
            try:
                lease.take()
            except LeaseTaken as taken:
                raise RunBusy.named(self.run_id, taken.holder) from taken
            undone.callback(lease.give_back)
            Reserve.hold(self._journals, self._part)
            undone.pop_all()
        Uploader(self._lake.shared, self._journals, lease).start()

    def _refuse_parts(self) -> None:
        """Raises `RunBusy` if a process of this machine writes a part of the run."""
        for path in self._path.parent.glob(f"{self._whole}+*.lock"):
            try:
                with _file_lock(path):
                    pass
            except filelock.Timeout as error:
                raise RunBusy.named(self.run_id) from error


def _file_lock(path: Path) -> filelock.FileLock:
    return filelock.FileLock(path, timeout=0, thread_local=False, is_singleton=True)
