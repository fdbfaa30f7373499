"""Runs that begin while Prefect's server restarts wait for it; those asked to end as they begin end in order."""

import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from support.processes import clean_environment, free_port

pytestmark = pytest.mark.drill

AWAY_S = 3.0
ASK = {
    "sync": "with get_client(sync_client=True) as client: client.hello()",
    "async": """
async def ask():
    async with get_client() as client:
        await client.hello()

asyncio.run(ask())
""",
}


class _Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def ask(port: int, home: Path, kind: str, plugins: str) -> subprocess.Popen[str]:
    environment = clean_environment(
        PREFECT_API_URL=f"http://127.0.0.1:{port}/api",
        PREFECT_HOME=str(home),
        PREFECT_CLIENT_MAX_RETRIES="7",
        PREFECT_PLUGINS_ENABLED=plugins,
        PREFECT_CLIENT_CSRF_SUPPORT_ENABLED="false",
        PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED="false",
    )
    begin = "import asyncio\nfrom prefect.client.orchestration import get_client\nprint('asks', flush=True)\n"
    return subprocess.Popen(
        [sys.executable, "-c", begin + ASK[kind]],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("kind", [*ASK])
def test_the_first_request_of_a_run_waits_for_a_server_that_is_away(tmp_path, kind):
    port = free_port()
    asking = ask(port, tmp_path, kind, "true")
    assert asking.stdout is not None
    assert asking.stdout.readline() == "asks\n"
    time.sleep(AWAY_S)
    assert asking.poll() is None
    with HTTPServer(("127.0.0.1", port), _Hello) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        _, errors = asking.communicate(timeout=60)
        server.shutdown()
    assert asking.returncode == 0, errors


def test_prefect_alone_would_give_up_at_once(tmp_path):
    asking = ask(free_port(), tmp_path, "sync", "false")
    _, errors = asking.communicate(timeout=60)
    assert asking.returncode != 0
    assert "ConnectError" in errors


ENDED = """
import asyncio, os, signal
import prefect
os.kill(os.getpid(), signal.SIGTERM)
from biasgrid.flows.runs.session import Terminated, _cancelled_by_sigterm

async def work():
    with _cancelled_by_sigterm():
        await asyncio.sleep(60)

try:
    asyncio.run(work())
except Terminated:
    print("ended in order")
"""


@pytest.mark.parametrize(("run", "expected"), [({"PREFECT__FLOW_RUN_ID": "1"}, "ended in order\n"), ({}, "")])
def test_a_run_alone_receives_sigterm_when_its_flow_can_end_in_order(tmp_path, run, expected):
    environment = clean_environment(PREFECT_HOME=str(tmp_path), PREFECT_PLUGINS_ENABLED="true", **run)
    done = subprocess.run(
        [sys.executable, "-c", ENDED], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == expected, done.stderr
    assert (done.returncode == 0) == bool(run)
