"""Starts, monitors and stops the processes of a single machine in order."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GRACE_S = 30
"""Seconds for a worker's runs to store replies in flight."""
PATIENCE_S = 40.0
"""Seconds for a process to end; remaining processes are then killed."""
LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Process:
    """A child process in a session of its own: Ctrl-C reaches only the parent, which ends all in order."""

    name: str
    log: Path
    handle: subprocess.Popen[Any]

    @property
    def is_gone(self) -> bool:
        return self.handle.poll() is not None

    def end(self, patience_s: float = PATIENCE_S) -> None:
        """Terminates the process and its children, and kills those left after `patience_s`."""
        if not self.is_gone:
            self.handle.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.handle.wait(patience_s)
        self._end_rest(patience_s)
        with self.handle:  # closes its pipe, and waits for it
            pass

    def kill(self) -> None:
        """Kills it and all processes that it has started."""
        with self.handle, suppress(ProcessLookupError):
            os.killpg(self.handle.pid, signal.SIGKILL)

    def _end_rest(self, patience_s: float) -> None:
        for word in (signal.SIGTERM, signal.SIGKILL):
            if not _has_processes(self.handle.pid):
                return
            with suppress(ProcessLookupError):
                os.killpg(self.handle.pid, word)
            _wait_while(lambda: self.handle.poll() is None or _has_processes(self.handle.pid), patience_s)


@dataclass(frozen=True, slots=True)
class Claim:
    """Exclusive right to serve: a locked file that child processes inherit, held until all have ended."""

    descriptor: int

    def note(self, group: int) -> None:
        """Records a process by the id of its group."""
        os.write(self.descriptor, f"{group}\n".encode())


class Claimed(Exception):
    """Another process has the claim, or left processes that hold it."""

    def __init__(self, groups: Sequence[int]) -> None:
        super().__init__(groups)
        self.groups = groups


@contextmanager
def hold_claim(path: Path) -> Iterator[Claim]:
    """Holds the claim on a file. Raises `Claimed`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Claimed([int(line) for line in path.read_text(encoding="ascii").split()]) from None
        os.ftruncate(descriptor, 0)
        yield Claim(descriptor)
    finally:
        os.close(descriptor)


def start_process(
    name: str, arguments: Sequence[str], log: Path, environment: Mapping[str, str], claim: Claim
) -> Process:
    """Starts a Python module that inherits the claim; its output is written to `log`. When this process is killed,
    it ends with all that it has started."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        handle = subprocess.Popen(  # noqa: S603 - our own words
            [sys.executable, "-P", "-m", "biasgrid.flows.operations.parent_watch", *arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONSAFEPATH": "1", **environment},
            start_new_session=True,
            pass_fds=[claim.descriptor],
        )
    claim.note(handle.pid)
    return Process(name, log, handle)


@contextmanager
def end_in_order(processes: list[Process]) -> Iterator[None]:
    """Ends processes in reverse order, workers before their server."""
    try:
        yield
    finally:
        for process in reversed(processes):
            process.end()


def kill_all(processes: Sequence[Process]) -> None:
    """Kills processes and all that they have started."""
    for process in reversed(processes):
        process.kill()


def wait_for_first_end(
    processes: Sequence[Process], stopping: threading.Event, look: Callable[[], None]
) -> Process | None:
    """Calls `look` until a process ends by itself, and returns that; None if `stopping` is set before."""
    while not stopping.wait(LOOK_S):
        look()
        if gone := next((process for process in processes if process.is_gone), None):
            return gone
    return None


def _wait_while(condition: Callable[[], bool], patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while condition() and time.monotonic() < deadline:
        time.sleep(0.1)


def _has_processes(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
