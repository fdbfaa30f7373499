"""A chatbot on loopback."""

from __future__ import annotations

import json
import threading
import time
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from support.http_server import Answer, address_of, listening

JSON = {"Content-Type": "application/json"}
History = list[dict[str, str]]
"""A conversation: `role` and `content` of each turn."""


Scripted = tuple[int, dict[str, str], str]
"""Status, headers and body of an answer."""


@dataclass(frozen=True)
class ReceivedRequest:
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
    """Its reply to a history that ends with the user's message."""
    conversations: dict[str, list[str]] = field(default_factory=dict)
    """The messages of each session, in the order of arrival; of one that never had a name, under `#1`, `#2` …"""
    received: list[ReceivedRequest] = field(default_factory=list)
    """Every request, those that failed among them."""
    delay_s: float = 0.0
    url: str = ""
    _memory: dict[str, History] = field(default_factory=dict, repr=False)
    _script: deque[Callable[[], Scripted]] = field(default_factory=deque, repr=False)
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
            opening = {"url": f"{self.url}/start"}
            described |= {"remembers": "session", "session_from": "session", "opening": opening}
        return described

    def stop(self) -> None:
        """Down from now on: connections are refused."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    @contextmanager
    def listening(self) -> Iterator[Chatbot]:
        with listening(self._answer) as self._server:
            self.url = address_of(self._server)
            yield self

    def _answer(self, request: BaseHTTPRequestHandler, body: bytes) -> Answer:
        headers = {name.lower(): value for name, value in request.headers.items()}
        status, given, text = self.answer(ReceivedRequest(request.command, request.path, headers, body.decode()))
        return status, given, text.encode()

    def answer(self, incoming: ReceivedRequest) -> Scripted:
        """Status, headers and body; status 0 drops the connection."""
        with self._lock:
            self.received.append(incoming)
            scripted = self._script.popleft() if self._script else None
        time.sleep(self.delay_s)
        if scripted is not None:
            return scripted()
        with self._lock:
            return self._start_session() if incoming.path == "/start" else self._reply_to(incoming)

    def _start_session(self) -> Scripted:
        session = f"given-{len(self._memory) + 1}"
        self._memory[session] = []
        return 200, JSON, json.dumps({"session": session})

    def _reply_to(self, incoming: ReceivedRequest) -> Scripted:
        fields = _fields(incoming)
        cookies = SimpleCookie(incoming.headers.get("cookie", ""))
        session = str(fields.get("session") or (cookies["chat"].value if "chat" in cookies else ""))
        named = session or f"#{len(self._memory) + 1}"
        memory = self._memory.setdefault(named, [])
        memory += fields.get("history") or [{"role": "user", "content": fields.get("message", "")}]
        self.conversations.setdefault(named, []).append(memory[-1]["content"])
        text = self.reply(memory)
        memory.append({"role": "assistant", "content": text})
        headers = {} if session else {"Set-Cookie": f"chat={named}; Path=/; HttpOnly"}
        if incoming.path.startswith("/plain"):
            return 200, headers | {"Content-Type": "text/plain; charset=utf-8"}, text
        return 200, headers | JSON, json.dumps({"data": [{"text": text}], "session": named})


def _fields(incoming: ReceivedRequest) -> dict[str, Any]:
    label = incoming.headers.get("content-type", "")
    if "json" in label:
        return dict(json.loads(incoming.body))
    if "form" in label:
        return dict(urllib.parse.parse_qsl(incoming.body, keep_blank_values=True))
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(incoming.path).query))
    return query or {"message": incoming.body}


def _status(status: int) -> Callable[[], Scripted]:
    return lambda: (status, JSON, json.dumps({"error": {"message": "no"}}))


FAILURES: dict[str, Callable[[], Scripted]] = {
    "html": lambda: (200, {"Content-Type": "text/html"}, "<!DOCTYPE html><html><body>Sign in</body></html>"),
    "shape": lambda: (200, JSON, json.dumps({"answer": "elsewhere"})),
    "empty": lambda: (200, JSON, ""),
    "429": lambda: (429, {"Content-Type": "application/json", "Retry-After": "0.01"}, "{}"),
    "drop": lambda: (0, {}, ""),
}


@pytest.fixture
def chatbot() -> Iterator[Chatbot]:
    """A chatbot on a port of its own, until the test ends."""
    with Chatbot().listening() as started:
        yield started
