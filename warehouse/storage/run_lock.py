"""Allows one writer per run: by a file lock within a machine, by a lease between machines with shared storage."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import filelock

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.disk_reserve import Reserve
from biasgrid.warehouse.storage.errors import StorageTrouble, storing
from biasgrid.warehouse.storage.lake import Lake, check_name
from biasgrid.warehouse.storage.objects.leases import (
    EXPIRES_S,
    Lease,
    LeaseTaken,
    Machine,
    Turn,
    is_held_elsewhere,
)
from biasgrid.warehouse.storage.objects.uploader import Uploader
from biasgrid.warehouse.storage.runs import UNDER_WAY, Run

LEADER = "lead-"
"""In the name of a lock: the process waits for others that write the run."""
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

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
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


@contextmanager
def lead_run(lake: Lake, run_id: str) -> Iterator[None]:
    """Marks a run as under way while other processes, which this one waits for, may not have begun to write it.
    Excludes no process."""
    subject = f"{LEADER}{check_name(run_id)}"
    with ExitStack() as held, suppress(filelock.Timeout, LeaseTaken):  # another process leads it, too
        path = lake.locks / f"{subject}.lock"
        with storing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(_file_lock(path))
        if lake.shared:
            lease = Lease(lake.shared.bucket, subject, Machine.of(lake.root))
            lease.take()
            turn = Turn(lake.shared, lease)
            turn.begin()
            held.callback(turn.end)
        held = held.pop_all()
    with held:
        yield


def is_under_way(lake: Lake, run_id: str) -> bool:
    """Whether a process of this machine writes or leads the run, or another machine has a lease on it."""
    whole = f"run-{check_name(run_id)}"
    parts = lake.locks.glob(f"{whole}+*.lock")
    if any(map(_is_held, (lake.locks / f"{whole}.lock", lake.locks / f"{LEADER}{run_id}.lock", *parts))):
        return True
    return lake.shared is not None and is_held_elsewhere(lake.shared, whole, f"{LEADER}{run_id}")


def current_state(lake: Lake, run: Run) -> str:
    """The recorded state, but `killed` for a run without an end that no process writes."""
    is_dead = run.state in UNDER_WAY and not is_under_way(lake, run.run_id)
    return "killed" if is_dead else run.state


def _is_held(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _file_lock(path: Path) -> filelock.FileLock:
    return filelock.FileLock(path, timeout=0, thread_local=False, is_singleton=True)
