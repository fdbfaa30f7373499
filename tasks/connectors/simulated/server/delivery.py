"""Sends responses to the socket, complete or damaged by a fault."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections import deque
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from starlette.responses import HTMLResponse, Response
from starlette.types import Message as AsgiMessage
from starlette.types import Receive, Scope, Send

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.simulated.fault_injection import Fault

KEPT = 500_000
"""Most entries in memory, the newest; a file has all of them."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class JournalEntry:
    """One request for a reply, or one line of a batch."""

    model: str = ""
    """The requested model; empty if the request was declined before it was read."""
    messages: str = ""
    """`digest_messages` of the messages."""
    seed: int | None = None
    batch: str | None = None
    """The batch of a line."""
    outcome: str = "open"
    """`answered`: whole reply sent; `abandoned`: the client had gone; else a fault or the decline reason."""
    fault: str | None = None
    """Its fault, even if a whole reply was sent: a slow, filtered or huge one."""
    arrived_at: datetime = field(default_factory=_now)
    ended_at: datetime | None = None


class Journal:
    """Entries in the order in which requests ended; requests open when the server stops are missing."""

    def __init__(self, path: Path | None = None) -> None:
        """A journal that appends to `path`. Raises UserError if that cannot be written."""
        self.entries: deque[JournalEntry] = deque(maxlen=KEPT)
        self._file = None if path is None else _open_journal(path)

    def close(self, entry: JournalEntry, outcome: str) -> None:
        """Records the outcome of a request, first of all in the file."""
        entry.outcome, entry.ended_at = outcome, _now()
        self.entries.append(entry)
        if self._file is not None:
            os.write(self._file, format_entry(entry))

    def lines(self) -> bytes:
        return b"".join(map(format_entry, self.entries))


def format_entry(entry: JournalEntry) -> bytes:
    return json.dumps(asdict(entry), default=datetime.isoformat).encode() + b"\n"


def digest_messages(messages: Sequence[Message]) -> str:
    """SHA-256, in hex, of the messages as JSON: `[{"role":"user","content":"…"}]`, no blanks, UTF-8."""
    plain = [{"role": message.role, "content": message.content} for message in messages]
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    # providers and their clients let lone surrogates through
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _open_journal(path: Path) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        what = f"cannot write `{path}`: {error.strerror}"
        raise UserError(Problem(what, "--journal", "name a file that can be written")) from error


PIECES = 20
PAGE = "<!doctype html>\n<title>Maintenance</title>\n<h1>We will be back soon</h1>\n"


class Delivery:
    """Sends a response and records its outcome afterwards: `answered` once the socket has all of it."""

    def __init__(
        self, response: Response, journal: Journal, entry: JournalEntry, outcome: str, stall_s: float
    ) -> None:
        self._response, self._journal, self._entry = response, journal, entry
        self._outcome, self._stall_s = outcome, stall_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        arrived = await self._send(scope, receive, send)
        answered = self._outcome == "answered"
        self._journal.close(self._entry, "abandoned" if answered and not arrived else self._outcome)

    async def _send(self, scope: Scope, receive: Receive, send: Send) -> bool:
        match self._entry.fault:
            case "slow_body":
                return await _send_slowly(self._response, self._stall_s, receive, send)
            case "truncated_body":
                return await _send_half(self._response, scope, send)
            case "empty_body":
                return await _send_whole(Response(media_type="application/json"), scope, receive, send)
            case "wrong_content_type":
                return await _send_whole(HTMLResponse(PAGE), scope, receive, send)
        return await _send_whole(self._response, scope, receive, send)


UNREADABLE: frozenset[Fault] = frozenset(("truncated_body", "empty_body", "wrong_content_type"))
"""Faults that leave nothing readable of a reply."""


async def _send_whole(response: Response, scope: Scope, receive: Receive, send: Send) -> bool:
    """False if the client had gone before the socket had all of it."""
    transport, gone = transport_of(scope), False

    async def watch(message: AsgiMessage) -> None:
        nonlocal gone
        gone = transport.is_closing()
        await send(message)

    await response(scope, receive, watch)
    while transport.get_write_buffer_size() and not transport.is_closing():  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(0.001)
    return not gone and (_is_last(scope) or not transport.is_closing())


async def _send_slowly(response: Response, stall_s: float, receive: Receive, send: Send) -> bool:
    await _send_head(response, send)
    size = -(-len(response.body) // PIECES) or 1
    for start in range(0, len(response.body), size):
        with suppress(TimeoutError):
            await asyncio.wait_for(receive(), stall_s / PIECES)
            return False  # the only message still possible is that the client has gone
        piece = bytes(response.body[start : start + size])
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body"})
    return True


async def _send_half(response: Response, scope: Scope, send: Send) -> bool:
    await _send_head(response, send)
    half = bytes(response.body[: len(response.body) // 2])
    await send({"type": "http.response.body", "body": half, "more_body": True})
    transport_of(scope).close()
    return False


def _send_head(response: Response, send: Send) -> Awaitable[None]:
    return send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})


def _is_last(scope: Scope) -> bool:
    """Whether the connection ends with this response at the client's request."""
    return scope["http_version"] == "1.0" or (b"connection", b"close") in scope["headers"]


def transport_of(scope: Scope) -> asyncio.Transport:
    """The connection itself, which the server stores there."""
    transport: asyncio.Transport = scope["state"]["transport"]
    return transport
