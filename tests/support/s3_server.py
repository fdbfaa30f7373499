"""Servers of object storage on loopback: S3, and Google's protocol in front of it."""

from __future__ import annotations

import threading
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

CONDITIONS = ("HTTP_IF_NONE_MATCH", "HTTP_IF_MATCH")


class S3Server:
    """S3 on loopback, with what tests want to know of it and do to it. `knows`: the only known key, if any."""

    address = "s3://lakes/team"

    def __init__(self) -> None:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

        self.requests: list[tuple[str, str]] = []
        """Method and path of each, in the order of arrival."""
        self.knows: str | None = None
        self.refuses: Callable[[str, str], str | None] = lambda _method, _path: None
        """What to answer in place of what was asked for: a status such as `503 Slow Down`; None: nothing else."""
        self.conditions = "obeyed"
        """Whether conditional puts are `obeyed`, `refused` or `ignored`."""
        self._answers = DomainDispatcherApplication(create_backend_app)
        self.port = 0

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self.requests.append((method, f"{path}?{environ.get('QUERY_STRING', '')}".removesuffix("?")))
        signed = environ.get("HTTP_AUTHORIZATION", "")
        stranger = self.knows is not None and f"Credential={self.knows}/" not in signed
        refused = "403 Forbidden" if stranger else self.refuses(method, path)
        conditions = [environ.pop(name, None) for name in CONDITIONS] if self.conditions != "obeyed" else []
        if any(conditions) and self.conditions == "refused":
            refused = "501 Not Implemented"
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

    def empty(self) -> None:
        """Leaves nothing but the empty bucket `lakes`."""
        self.knows, self.refuses, self.conditions = None, lambda _method, _path: None, "obeyed"
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/moto-api/reset", method="POST")).close()
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/lakes", method="PUT")).close()
        self.requests.clear()


class GoogleServer(S3Server):
    """Google's XML interface, which is that of S3 with generations of objects in place of tags, before moto. No
    emulator of it takes the requests of obstore."""

    address = "gs://lakes/team"

    def __init__(self) -> None:
        super().__init__()
        self._tags: dict[str, str] = {}
        """Of all generations that were answered."""

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        environ["HTTP_AUTHORIZATION"] = "AWS4-HMAC-SHA256 Credential=anna/20260101/us-east-1/s3/aws4_request"
        if expected := environ.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None):
            name, tag = CONDITIONS if expected == "0" else CONDITIONS[::-1], self._tags.get(expected, "none")
            environ[name[0]] = "*" if expected == "0" else tag

        def answer(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            if tag := dict(headers).get("ETag"):
                generation = str(int(tag.strip('"')[:15], 16))
                self._tags[generation] = tag
                headers = [*headers, ("x-goog-generation", generation)]
            return start(status, headers, *more)

        return super().__call__(environ, answer)

    def environment(self, cache: Path) -> dict[str, str]:
        return {"STORAGE_EMULATOR_HOST": self.url, "BIASGRID_CACHE": str(cache)}


on_azure = pytest.param("_azure", marks=pytest.mark.drill)
on_both = pytest.mark.parametrize("s3", ["_s3", on_azure], indirect=True)
on_all = pytest.mark.parametrize("s3", ["_s3", "refused", "ignored", "_google", on_azure], indirect=True)


@pytest.fixture(scope="session")
def _s3() -> Iterator[S3Server]:
    with S3Server().listening() as server:
        yield server


@pytest.fixture(scope="session")
def _google() -> Iterator[GoogleServer]:
    with GoogleServer().listening() as server:
        yield server


@pytest.fixture
def s3(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server with nothing but the empty bucket `lakes`; this process is a machine that may use it. By indirect
    parameter another than S3: `_google`, `_azure`, or one whose conditional puts are `refused` or `ignored`."""
    named = getattr(request, "param", "_s3")
    server = request.getfixturevalue(named if named.startswith("_") else "_s3")
    for name, value in server.environment(tmp_path / "mirrors").items():
        monkeypatch.setenv(name, value)
    server.empty()
    if not named.startswith("_"):
        server.conditions = named
    yield server
    server.empty()
