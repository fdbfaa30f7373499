"""A Prefect server for the tests of deployments, with a home of its own, and a listener for its alarms."""

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import orjson
import pytest

# Prefect reads it when it is first imported: before any test module
os.environ.setdefault("PREFECT_HOME", tempfile.mkdtemp(prefix="prefect-home-"))

from prefect.client.orchestration import PrefectClient, get_client
from prefect.settings import PREFECT_API_URL, temporary_settings

from support.http_server import Answer, address_of, listening
from support.prefect_server import PrefectServer, prefect_server, send_pending_events
from support.processes import clean_environment


def reporting_to(server: PrefectServer) -> dict[str, str]:
    """The environment of processes that report to a server."""
    return clean_environment(PREFECT_HOME=str(server.home / "client"), PREFECT_API_URL=server.api)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    with prefect_server(tmp_path_factory.mktemp("prefect")) as started:
        # Prefect's threads keep to the server that they began with, whichever is configured later
        send_pending_events()
        yield started
        send_pending_events()


@pytest.fixture
async def client(server: PrefectServer) -> AsyncIterator[PrefectClient]:
    with temporary_settings({PREFECT_API_URL: server.api}):
        async with get_client() as opened:
            yield opened


@dataclass
class Listener:
    """The webhook of alarms; `notices` are in the order of arrival."""

    url: str = ""
    notices: list[dict[str, Any]] = field(default_factory=list)

    def subjects(self) -> list[str]:
        return [notice["subject"] for notice in self.notices]

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> Answer:
        self.notices.append(orjson.loads(body))
        return 200, {}, b""


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    listener = Listener()
    with listening(listener.answer) as server:
        listener.url = f"{address_of(server)}/hooks/a-secret-address"
        yield listener


@pytest.fixture
def run_in(server: PrefectServer) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs Python in a directory, reporting to the server: `run_in(folder, "-m", "biasgrid.deployments")`."""

    def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        environment = {**reporting_to(server), **more}
        command = [sys.executable, *words]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)

    return run
