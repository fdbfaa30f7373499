"""A chatbot on loopback."""

from __future__ import annotations

import json
import threading
import time
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    pass

History = list[dict[str, str]]
"""What was said in a conversation: `role` and `content` of each turn."""


@dataclass(frozen=True)
class Heard:
    """A request as it reached the chatbot."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Chatbot:
    """A chatbot on loopback. It remembers a conversation by the `session` of a JSON or form body, else by its
    cookie `chat`, or takes the `history` that it is sent. `POST /start` begins one and gives it an id. The reply
    stands at `data[0].text`, the session at `session`; `/plain` answers with bare text."""

    reply: Callable[[History], str] = lambda history: f"You said: {history[-1]['content']}"
    """What it says after a history that ends with the user's message."""
    conversations: dict[str, list[str]] = field(default_factory=dict)
    """The messages of each session, in the order of arrival; of one that never had a name, under `#1`, `#2` …"""
    heard: list[Heard] = field(default_factory=list)
    """Every request, those that failed among them."""
    delay_s: float = 0.0
    url: str = ""
    _memory: dict[str, History] = field(default_factory=dict, repr=False)
    _script: deque[Callable[[], tuple[int, dict[str, str], str]]] = field(default_factory=deque, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _server: ThreadingHTTPServer | None = field(default=None, repr=False)

    def fails(self, *kinds: str) -> None:
        """What happens to the next requests: `html`, `429`, `shape` (JSON with nothing where the text should be),
        `empty`, any status such as `500`, or `drop`, which breaks the connection."""
        self._script.extend(FAILURES[kind] if kind in FAILURES else _status(int(kind)) for kind in kinds)

    def endpoint(self, remembers: str = "cookie") -> dict[str, Any]:
        """The description of itself that a user would write in YAML. `given`: by an id that it gives."""
        described: dict[str, Any] = {
            "url": f"{self.url}/chat",
            "body": {"message": "{message}"},
            "reply": "data[0].text",
            "remembers": remembers,
        }
        if remembers == "none":
            described["body"] = {"history": "{history}"}
        if remembers in ("session", "given"):
            described["body"]["session"] = "{session}"
        if remembers == "given":
            described |= {
                "remembers": "session",
                "session_from": "session",
                "opening": {"url": f"{self.url}/start"},
            }
        return described

    def stop(self) -> None:
        """Down from now on: connections are refused."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    @contextmanager
    def listening(self) -> Iterator[Chatbot]:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.stop()
            thread.join()

    def answer(self, heard: Heard) -> tuple[int, dict[str, str], str]:
        """Status, headers and body; nothing where the connection is to be dropped."""
        with self._lock:
            self.heard.append(heard)
            scripted = self._script.popleft() if self._script else None
        time.sleep(self.delay_s)
        if scripted is not None:
            return scripted()
        with self._lock:
            return self._started() if heard.path == "/start" else self._said(heard)

    def _started(self) -> tuple[int, dict[str, str], str]:
        session = f"given-{len(self._memory) + 1}"
        self._memory[session] = []
        return 200, {"Content-Type": "application/json"}, json.dumps({"session": session})

    def _said(self, heard: Heard) -> tuple[int, dict[str, str], str]:
        told = _fields(heard)
        cookies = SimpleCookie(heard.headers.get("cookie", ""))
        session = str(told.get("session") or (cookies["chat"].value if "chat" in cookies else ""))
        named = session or f"#{len(self._memory) + 1}"
        memory = self._memory.setdefault(named, [])
        memory += told.get("history") or [{"role": "user", "content": told.get("message", "")}]
        self.conversations.setdefault(named, []).append(memory[-1]["content"])
        said = self.reply(memory)
        memory.append({"role": "assistant", "content": said})
        headers = {} if session else {"Set-Cookie": f"chat={named}; Path=/; HttpOnly"}
        if heard.path.startswith("/plain"):
            return 200, headers | {"Content-Type": "text/plain; charset=utf-8"}, said
        return (
            200,
            headers | {"Content-Type": "application/json"},
            json.dumps({"data": [{"text": said}], "session": named}),
        )

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        chatbot = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                status, told, said = chatbot.answer(Heard(self.command, self.path, headers, body))
                if not status:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in told.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(said.encode())))
                self.end_headers()
                self.wfile.write(said.encode())

            do_GET = do_PUT = do_PATCH = do_POST  # noqa: N815

            def handle(self) -> None:
                with suppress(OSError):  # who asked has gone
                    super().handle()

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


def _fields(heard: Heard) -> dict[str, Any]:
    label = heard.headers.get("content-type", "")
    if "json" in label:
        return dict(json.loads(heard.body))
    if "form" in label:
        return dict(urllib.parse.parse_qsl(heard.body, keep_blank_values=True))
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(heard.path).query))
    return query or {"message": heard.body}


def _status(status: int) -> Callable[[], tuple[int, dict[str, str], str]]:
    return lambda: (status, {"Content-Type": "application/json"}, json.dumps({"error": {"message": "no"}}))


FAILURES: dict[str, Callable[[], tuple[int, dict[str, str], str]]] = {
    "html": lambda: (200, {"Content-Type": "text/html"}, "<!DOCTYPE html><html><body>Sign in</body></html>"),
    "shape": lambda: (200, {"Content-Type": "application/json"}, json.dumps({"answer": "elsewhere"})),
    "empty": lambda: (200, {"Content-Type": "application/json"}, ""),
    "429": lambda: (429, {"Content-Type": "application/json", "Retry-After": "0.01"}, "{}"),
    "drop": lambda: (0, {}, ""),
}


@pytest.fixture
def chatbot() -> Iterator[Chatbot]:
    """A chatbot on a port of its own, until the test ends."""
    with Chatbot().listening() as listening:
        yield listening
