"""The validation process: `python -m biasgrid.warehouse.expectations`, started by an `Inspector`.

Each inspection begins with the line `{"begin": true}`; each following line is a narrowed table, which is validated
at once. A line `{"pages": …}` is answered with one line: the failures or the error. The process ends when standard
input is closed.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

if TYPE_CHECKING:
    from biasgrid.warehouse.expectations.validation import Validator


def main() -> None:
    """Imports Great Expectations, which takes seconds, then answers requests."""
    answers = _open_answers()
    requests: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    import_sparingly()
    from biasgrid.warehouse.expectations.validation import Validator

    # what was imported stays: it need not be searched for garbage
    gc.freeze()
    gc.enable()
    inspection = Inspection(Validator())
    while True:
        request = orjson.loads(requests.get())
        if "begin" in request:
            inspection = Inspection(Validator())
        elif "pages" not in request:
            inspection.judge(request)
        else:
            answers.write(inspection.answer(Path(request["pages"])) + b"\n")
            answers.flush()


UNNEEDED = ("boto3", "botocore", "sqlalchemy")
"""Optional connectors of Great Expectations, which does without those that cannot be imported."""
DEFERRED = ("altair", "scipy.stats")
"""Imported by Great Expectations for expectations that biasgrid does not use."""


def import_sparingly() -> None:
    """Halves the time that the import of Great Expectations takes."""
    gc.disable()
    for name in UNNEEDED:
        sys.modules[name] = None  # type: ignore[assignment]  # an `import` raises `ModuleNotFoundError`
    for name in DEFERRED:
        _defer(name)


def _defer(name: str) -> None:
    """Puts a module in place that imports the real one when an attribute is first needed."""

    def load(attribute: str) -> Any:
        if attribute.startswith("__"):  # the import system looks at these
            raise AttributeError(attribute)
        if sys.modules[name] is module:
            del sys.modules[name]
        return getattr(importlib.import_module(name), attribute)

    module = ModuleType(name)
    vars(module)["__getattr__"] = load
    sys.modules[name] = module
    package, _, own = name.rpartition(".")
    if package:
        setattr(importlib.import_module(package), own, module)


class Inspection:
    """Tables that are validated together; any error is reported to the requesting process."""

    def __init__(self, validator: Validator) -> None:
        self._validator = validator
        self._error = ""

    def judge(self, table: dict[str, Any]) -> None:
        """Validates a table, unless an earlier table caused an error."""
        if self._error:
            return
        try:
            self._validator.judge(table)
        except Exception as error:  # noqa: BLE001 - reported with the answer
            self._error = _describe(error)

    def answer(self, pages: Path) -> bytes:
        """Writes the pages; returns the failures, or the first error."""
        if self._error:
            return orjson.dumps({"error": self._error})
        try:
            return orjson.dumps({"failed": self._validator.write(pages)})
        except Exception as error:  # noqa: BLE001 - reported
            return orjson.dumps({"error": _describe(error)})


def _open_answers() -> BinaryIO:
    """Standard output for answers; output of libraries is redirected to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _listen(requests: SimpleQueue[bytes]) -> None:
    """Queues requests until the requesting process closes its end of the pipe."""
    # a separate reader: at exit Python needs the lock of `sys.stdin`, which this thread would hold
    with os.fdopen(os.dup(sys.stdin.fileno()), "rb") as lines:
        for line in lines:
            requests.put(line)
    os._exit(0)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
