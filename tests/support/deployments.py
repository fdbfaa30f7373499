"""A Prefect server of these tests' own, with a home of its own, and somebody who listens to its alarms."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest

# Prefect reads it when it is first imported: before any test module
os.environ.setdefault("PREFECT_HOME", tempfile.mkdtemp(prefix="prefect-home-"))

from prefect.client.orchestration import PrefectClient, get_client
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogWorker
from prefect.settings import PREFECT_API_URL, temporary_settings

START_S = 60.0


@dataclass(frozen=True)
class Server:
    """A Prefect server that runs."""

    url: str
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """In which processes report to it."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "BIASGRID_"))
        }
        own = {"PREFECT_HOME": str(self.home / "client"), "PREFECT_API_URL": self.url, "DO_NOT_TRACK": "1"}
        return {**kept, **own}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("prefect")
    port = _free_port()
    server = Server(f"http://127.0.0.1:{port}/api", home)
    command = [
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
    environment = {**os.environ, "PREFECT_HOME": str(home), "DO_NOT_TRACK": "1"}
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait_until_healthy(server, process)
            _parted()
            yield server
            _parted()
        finally:
            process.terminate()
            process.wait(timeout=30)


def _parted() -> None:
    """What this process has to tell goes to whom it was meant for: Prefect's threads keep to the server that they
    began with, whichever is configured later."""
    APILogWorker.drain_all(timeout=10)
    EventsWorker.drain_all(timeout=10)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def _wait_until_healthy(server: Server, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.url}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"no Prefect server: {(server.home / 'server.log').read_text()[-2000:]}")


@pytest.fixture
async def client(server: Server) -> AsyncIterator[PrefectClient]:
    with temporary_settings({PREFECT_API_URL: server.url}):
        async with get_client() as opened:
            yield opened


@dataclass
class Listener:
    """Whoever is told of alarms: what was posted, in the order of arrival."""

    url: str = ""
    heard: list[dict[str, Any]] = field(default_factory=list)

    def subjects(self) -> list[str]:
        return [notice["subject"] for notice in self.heard]


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    listener = Listener()

    class Listening(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            listener.heard.append(orjson.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Listening) as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        listener.url = f"http://127.0.0.1:{listening.server_port}/hooks/known-to-nobody-else"
        yield listener
        listening.shutdown()
        thread.join()


@pytest.fixture
def run_in(server: Server) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs Python in a directory, reporting to the server: `run_in(folder, "-m", "biasgrid.deployments")`."""

    def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            cwd=folder,
            env={**server.environment, **more},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run
