"""Processes of a small team's machine: begun together, watched, ended in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE_S = 30.0
"""For a worker whose runs land what is in flight; what is there after it is killed."""
LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Process:
    """One of ours, in a session of its own: a terminal's Ctrl-C comes to us alone, and we end all in order."""

    name: str
    log: Path
    handle: subprocess.Popen[Any]

    @property
    def is_gone(self) -> bool:
        return self.handle.poll() is not None

    def end(self, patience_s: float = PATIENCE_S) -> None:
        """Asks it, waits, and then ends whatever it has started and not ended."""
        if not self.is_gone:
            self.handle.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.handle.wait(patience_s)
        self._end_rest(patience_s)
        self.handle.wait()

    def _end_rest(self, patience_s: float) -> None:
        for word in (signal.SIGTERM, signal.SIGKILL):
            if not _is_there(self.handle.pid):
                return
            with suppress(ProcessLookupError):
                os.killpg(self.handle.pid, word)
            _wait_until_gone(self.handle, patience_s)


def begin(name: str, arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> Process:
    """Starts a Python module with its arguments; what it says goes to `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as said:
        handle = subprocess.Popen(  # noqa: S603 - our own words
            [sys.executable, "-m", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    return Process(name, log, handle)


@contextmanager
def ending(processes: list[Process]) -> Iterator[None]:
    """The last that began is the first to end: workers before the server that they report to."""
    try:
        yield
    finally:
        for process in reversed(processes):
            process.end()


def first_gone(processes: Sequence[Process]) -> Process:
    """Waits until one of them ends by itself."""
    while True:
        for process in processes:
            if process.is_gone:
                return process
        time.sleep(LOOK_S)


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _wait_until_gone(leader: subprocess.Popen[Any], patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while _is_there(leader.pid) and time.monotonic() < deadline:
        leader.poll()
        time.sleep(0.1)
