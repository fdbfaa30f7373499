"""An S3 server on loopback."""

from __future__ import annotations

import threading
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    pass


class S3Server:
    """S3 on loopback, with what tests want to know of it and do to it. `keys`: whom it knows, all where None."""

    def __init__(self) -> None:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

        self.requests: list[tuple[str, str]] = []
        """Method and path of each, in the order of arrival."""
        self.knows: str | None = None
        self.refuses: Callable[[str, str], str | None] = lambda _method, _path: None
        """What to answer in place of what was asked for: a status such as `503 Slow Down`; None: nothing else."""
        self._answers = DomainDispatcherApplication(create_backend_app)
        self.port = 0

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self.requests.append((method, f"{path}?{environ.get('QUERY_STRING', '')}".removesuffix("?")))
        signed = environ.get("HTTP_AUTHORIZATION", "")
        stranger = self.knows is not None and f"Credential={self.knows}/" not in signed
        refused = "403 Forbidden" if stranger else self.refuses(method, path)
        if refused is None:
            answer: Iterable[bytes] = self._answers(environ, start)
            return answer
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start(refused, [("Content-Type", "application/xml"), ("Content-Length", "0")])
        return [b""]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def environment(self, cache: Path) -> dict[str, str]:
        """Of a machine with mirrors in `cache`."""
        return {
            "AWS_ACCESS_KEY_ID": "anna",
            "AWS_SECRET_ACCESS_KEY": "swordfish-of-anna",
            "AWS_ENDPOINT_URL": self.url,
            "AWS_EC2_METADATA_DISABLED": "true",
            "BIASGRID_CACHE": str(cache),
        }

    def names(self, folder: str = "") -> list[str]:
        """The objects of the bucket below `folder`, the empty ones that stand for folders left out."""
        return sorted(name for name, _ in self._objects() if name.startswith(folder) and not name.endswith("/"))

    def age(self, folder: str, seconds: float) -> None:
        """Makes the objects below `folder` so much older."""
        for name, one in self._objects():
            if name.startswith(folder):
                one.last_modified -= timedelta(seconds=seconds)

    def _objects(self) -> list[tuple[str, Any]]:
        from moto.backends import get_backend

        (account,) = get_backend("s3").values()
        return list(account["aws"].buckets["lakes"].keys.items())

    @contextmanager
    def listening(self, port: int = 0) -> Iterator[S3Server]:
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Silent(WSGIRequestHandler):
            protocol_version = "HTTP/1.1"

            def log(self, *_: Any, **__: Any) -> None:
                pass

        server = make_server("127.0.0.1", port, self, threaded=True, request_handler=Silent)
        server.daemon_threads = True
        self.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


@pytest.fixture(scope="session")
def _s3() -> Iterator[S3Server]:
    with S3Server().listening() as server:
        yield server


@pytest.fixture
def s3(_s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """An S3 server with nothing but the empty bucket `lakes`; this process is a machine that may use it."""
    for name, value in _s3.environment(tmp_path / "mirrors").items():
        monkeypatch.setenv(name, value)
    _s3.knows, _s3.refuses = None, lambda _method, _path: None
    urllib.request.urlopen(urllib.request.Request(f"{_s3.url}/moto-api/reset", method="POST")).close()
    urllib.request.urlopen(urllib.request.Request(f"{_s3.url}/lakes", method="PUT")).close()
    _s3.requests.clear()
    yield _s3
    _s3.knows, _s3.refuses = None, lambda _method, _path: None
