"""A Prefect server on a free port, with a home of its own, and homes whose database is made already."""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock

from support.processes import PATIENCE_S, clean_environment, free_port, wait_until

MIGRATED = Path(tempfile.gettempdir()) / f"biasgrid-tests-{os.getuid()}" / f"prefect-{version('prefect')}.db"
"""An empty database of this release of Prefect. To make one takes twice as long as to start a server with it."""


def migrated_home(home: Path) -> Path:
    """A home of Prefect whose database is as a first start would make it, if there is none."""
    home.mkdir(parents=True, exist_ok=True)
    MIGRATED.parent.mkdir(mode=0o700, exist_ok=True)
    with FileLock(f"{MIGRATED}.lock"):
        if not MIGRATED.exists():
            _migrate()
    if not (home / "prefect.db").exists():
        shutil.copyfile(MIGRATED, home / "prefect.db")
    return home


def _migrate() -> None:
    with tempfile.TemporaryDirectory(dir=MIGRATED.parent) as folder:
        command = [sys.executable, "-m", "prefect", "server", "database", "upgrade", "--yes"]
        subprocess.run(command, env=clean_environment(PREFECT_HOME=folder), check=True, capture_output=True)
        (Path(folder) / "prefect.db").rename(MIGRATED)


@dataclass(frozen=True)
class PrefectServer:
    """A running server; `api` is its address."""

    api: str
    process: subprocess.Popen[bytes]
    home: Path


@contextmanager
def prefect_server(
    home: Path, environment: Mapping[str, str] | None = None, port: int | None = None, *, has_ui: bool = False
) -> Iterator[PrefectServer]:
    """Serves until the block ends; ready, and its database migrated, when it begins."""
    migrated_home(home)
    port = port or free_port()
    command = [*(sys.executable, "-m", "prefect", "server", "start"), "--port", str(port)]
    command += [] if has_ui else ["--no-ui"]
    base = os.environ if environment is None else environment
    quiet = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1", "PREFECT_HOME": str(home)}
    with (home / "server.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env={**base, **quiet})
    server = PrefectServer(f"http://127.0.0.1:{port}/api", process, home)
    try:
        wait_until(lambda: process.poll() is not None or _is_healthy(server), every_s=0.1)
        assert process.poll() is None, (home / "server.log").read_text()[-2000:]
        yield server
    finally:
        process.terminate()
        process.wait(timeout=60)


def _is_healthy(server: PrefectServer) -> bool:
    try:
        with urllib.request.urlopen(f"{server.api}/health", timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


def ask_api(api: str, path: str, body: Any = None, secret: str | None = None, method: str | None = None) -> Any:
    """What a server's API answers, as JSON; raises urllib's HTTPError."""
    request = urllib.request.Request(f"{api}{path}", method=method)
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    if secret is not None:
        request.add_header("Authorization", f"Basic {base64.b64encode(secret.encode()).decode()}")
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def send_pending_events() -> None:
    """Sends this process's logs and events before their server stops, which Prefect would wait a minute for."""
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    APILogWorker.drain_all(timeout=10)
    EventsWorker.drain_all(timeout=10)
