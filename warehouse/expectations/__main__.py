"""The process that judges: `python -m biasgrid.warehouse.expectations`, started by an `Inspector`.

It reads one request a line, `{"lake": …, "built": …}`, and answers each with a line: a report, or why there is
none. It ends when nobody can ask any more.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO

import orjson


def main() -> None:
    """Load what takes seconds, then answer."""
    answers = _answers_alone()
    requests: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    from biasgrid.warehouse.expectations import inspection  # noqa: F401 - seconds, while nobody asks yet

    while True:
        answers.write(_answer(requests.get()) + b"\n")
        answers.flush()


def _answers_alone() -> BinaryIO:
    """Standard output for answers; what libraries say there joins their errors."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _listen(requests: SimpleQueue[bytes]) -> None:
    """Whoever asks has the other end: it is closed when that process ends, in whatever way."""
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


def _answer(request: bytes) -> bytes:
    from biasgrid.warehouse.expectations.inspection import inspect
    from biasgrid.warehouse.storage.lake import Lake

    asked = orjson.loads(request)
    built = Path(asked["built"]) if asked["built"] else None
    try:
        return inspect(Lake(Path(asked["lake"])), built).as_json()
    except Exception as error:  # noqa: BLE001 - told to whoever asked, who decides
        return orjson.dumps({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
