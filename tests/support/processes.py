"""Processes of their own: the command, a clean environment, free ports, waiting, and their end."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

BIASGRID = (sys.executable, "-c", "from biasgrid.flows.cli.process import run; run()")
"""The command line of `biasgrid` in the environment of the tests."""
PATIENCE_S = 300.0
"""Of tests on shared machines: it decides only how long a test takes that fails."""


def clean_environment(*foreign: str, **more: str) -> dict[str, str]:
    """This process's environment without variables of Prefect, biasgrid and `foreign` prefixes."""
    prefixes = ("BIASGRID_", "PREFECT_", *foreign)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
    return {**kept, "DO_NOT_TRACK": "1", **more}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def wait_until(
    holds: Callable[[], Any],
    process: subprocess.Popen[Any] | None = None,
    patience_s: float = PATIENCE_S,
    every_s: float = 0.02,
) -> Any:
    """The first true result of `holds`. Fails when `process` ends before, or time is up."""
    deadline = time.monotonic() + patience_s
    while not (found := holds()):
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"not within {patience_s:.0f} s"
        time.sleep(every_s)
    return found


async def await_until(
    holds: Callable[[], Any],
    task: asyncio.Task[Any] | None = None,
    patience_s: float = PATIENCE_S,
    every_s: float = 0.02,
) -> Any:
    """As `wait_until`; `holds` may be asynchronous, and `task` may not end before."""
    deadline = time.monotonic() + patience_s
    while True:
        found = holds()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        assert task is None or not task.done(), task.result()
        assert time.monotonic() < deadline, f"not within {patience_s:.0f} s"
        await asyncio.sleep(every_s)


def kill_group(process: subprocess.Popen[Any]) -> None:
    """Kills a process and all that it has started at once, as a machine that loses its power."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
