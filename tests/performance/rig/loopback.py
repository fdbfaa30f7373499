"""The endpoint's process, from outside."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rig.endpoint import Behaviour

ROOM = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Traffic:
    """What came to the endpoint since it last forgot."""

    received: int
    answered: int
    first: float | None
    """When the first request came, in seconds of `time.monotonic`."""
    last: float
    """When the last reply left."""
    busiest_minute: int
    """The most requests of any minute after the first."""

    @property
    def span_s(self) -> float:
        """From the first request to the last reply."""
        return self.last - self.first if self.first is not None else 0.0


@dataclass(frozen=True)
class Loopback:
    port: int

    @classmethod
    def of(cls, base_url: str) -> Loopback:
        """Seen from another process."""
        return cls(urlsplit(base_url).port or 80)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def traffic(self) -> Traffic:
        result = self._call("count", "GET")
        answered = result["statuses"].get("200", 0)
        return Traffic(result["received"], answered, result["first"], result["last"], result["busiest_minute"])

    def forget(self) -> None:
        self._call("reset", "POST")

    def _call(self, path: str, method: str) -> Any:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{path}", method=method)
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)


@contextmanager
def loopback(behaviour: Behaviour = Behaviour()) -> Iterator[Loopback]:  # noqa: B008  frozen
    """Serves until the block ends."""
    command = [sys.executable, "-m", "rig.endpoint", json.dumps(asdict(behaviour))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOM) as process:
        assert process.stdout
        try:
            yield Loopback(int(process.stdout.readline()))
        finally:
            process.terminate()
