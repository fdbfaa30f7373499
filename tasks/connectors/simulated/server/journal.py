"""What the server was asked and what became of it, for drills: JSON lines, in memory and in a file."""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.tasks.connectors.api import Message

KEPT = 500_000
"""Entries in memory at most, the newest; a file has all of them."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class Entry:
    """One request for a reply, or one line of a batch."""

    model: str = ""
    """As asked for; empty where the request was declined before it was read."""
    messages: str = ""
    """`digest` of them."""
    seed: int | None = None
    batch: str | None = None
    """The batch that it came in."""
    outcome: str = "open"
    """`answered`: the whole reply was handed to the socket, or to a batch's output. `abandoned`: there was one,
    but the client had gone. Else a fault's name, or why it was declined: key, model, throttled by the limits,
    invalid."""
    fault: str | None = None
    """What was wrong with it, even where a whole reply came of it: a slow body, a content filter's, a huge one."""
    arrived_at: datetime = field(default_factory=_now)
    ended_at: datetime | None = None


class Journal:
    """Entries in the order in which their requests ended: what is still open when the server stops is in none."""

    def __init__(self, path: Path | None = None) -> None:
        """Appends to `path`. Raises UserError where that cannot be written."""
        self.entries: deque[Entry] = deque(maxlen=KEPT)
        self._file = None if path is None else _opened(path)

    def close(self, entry: Entry, outcome: str) -> None:
        """Records how it ended, in the file before anything else happens."""
        entry.outcome, entry.ended_at = outcome, _now()
        self.entries.append(entry)
        if self._file is not None:
            os.write(self._file, line(entry))

    def lines(self) -> bytes:
        return b"".join(map(line, self.entries))


def line(entry: Entry) -> bytes:
    return json.dumps(asdict(entry), default=datetime.isoformat).encode() + b"\n"


def digest(messages: Sequence[Message]) -> str:
    """SHA-256, in hex, of the messages as JSON: `[{"role":"user","content":"…"}]`, no blanks, UTF-8."""
    plain = [{"role": message.role, "content": message.content} for message in messages]
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    # providers and their clients let halves of surrogate pairs through
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        what = f"cannot write `{path}`: {error.strerror}"
        raise UserError(Problem(what, "--journal", "name a file that can be written")) from error
