"""Keys that a Prefect server may hold: if it does not answer, the error states so."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.operations.environment import secret_blocks


def look_up(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", address)
    read = secret_blocks()
    assert read is not None
    with temporary_settings({PREFECT_API_URL: address}):
        read("openai-api-key")


@pytest.fixture
def closed() -> Iterator[str]:
    """A server that rejects every request."""

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}/api"
        listening.shutdown()
        thread.join()


def test_a_server_that_does_not_let_us_in_is_a_mistake(closed, monkeypatch):
    with pytest.raises(UserError, match="does not let us look for the key `openai-api-key`"):
        look_up(closed, monkeypatch)


def test_a_server_that_does_not_answer_is_a_mistake(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(UserError, match="that may hold the key `openai-api-key` does not answer"):
        look_up(f"http://127.0.0.1:{port}/api", monkeypatch)
