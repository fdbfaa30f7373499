"""A Prefect server of our own: a port nobody uses, a home whose database is migrated."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

QUIET = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}
START_S = 90.0


@dataclass(frozen=True)
class PrefectServer:
    api: str
    pid: int


def homed(home: Path) -> dict[str, str]:
    """The environment of a process whose Prefect keeps to `home`."""
    return QUIET | {"PREFECT_HOME": str(home)}


@contextmanager
def prefect_server(home: Path) -> Iterator[PrefectServer]:
    """Serves until the block ends; ready, and its database migrated, when it begins."""
    home.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    prefect = [
        sys.executable,
        "-m",
        "prefect",
        "server",
        "start",
        "--port",
        str(port),
        "--no-ui",
        "--analytics-off",
    ]
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(prefect, stdout=log, stderr=subprocess.STDOUT, env=os.environ | homed(home))
    try:
        server = PrefectServer(f"http://127.0.0.1:{port}/api", process.pid)
        _wait_for(server, process)
        yield server
    finally:
        process.terminate()
        process.wait(timeout=60)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def _wait_for(server: PrefectServer, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.api}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"no Prefect server at {server.api}; its log is `server.log` in its home")
