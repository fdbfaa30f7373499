"""Runs a Python module until the parent process ends.

`python -m biasgrid.flows.operations.parent_watch MODULE ARGUMENTS`.

Standard input is a pipe to which nothing is written. The parent holds its other end, which the system closes
however the parent ends, `kill -9` included: this process then receives SIGTERM, which the parent may have blocked
in it, and SIGKILL if it does not end. So does its whole group where it leads one. What it has started in groups of
their own, as a worker its runs, is killed too: their server is gone, and they would wait for it.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PATIENCE_S = 5.0
PROCESSES = ("ps", "-A", "-o", "ppid=,pid=")


def main() -> None:
    """The module as `python -m` runs it, with the arguments that follow its name."""
    threading.Thread(target=_end_with_parent, name="parent watch", daemon=True).start()
    del sys.argv[0]
    code: object = 0
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))  # no thread keeps it waiting


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # a buffered read would hold a lock that Python wants when the module has ended
    end = os.killpg if os.getpgrp() == os.getpid() else os.kill
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    started = set(_descendants(os.getpid()))  # some lose their parent meanwhile
    end(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE_S)
    for pid in started | set(_descendants(os.getpid())):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    end(os.getpid(), signal.SIGKILL)


def _descendants(pid: int) -> Iterator[int]:
    for child in children(pid):
        yield child
        yield from _descendants(child)


def children(parent: int) -> list[int]:
    """Ids of a process's children; none if the system has no `ps`."""
    listed = Path(f"/proc/{parent}/task/{parent}/children")
    with suppress(OSError):
        return [int(pid) for pid in listed.read_text(encoding="ascii").split()]
    try:
        every = subprocess.run(PROCESSES, capture_output=True, text=True, check=True).stdout  # noqa: S603 - constant
    except (OSError, subprocess.CalledProcessError):
        return []
    pairs = [line.split() for line in every.splitlines()]
    return [int(pid) for ppid, pid in pairs if int(ppid) == parent]


if __name__ == "__main__":
    main()
