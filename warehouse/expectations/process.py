"""Starts the process that runs Great Expectations, and communicates with it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from biasgrid.catalogs.errors import Problem
from biasgrid.warehouse.storage.errors import OldWarehouseStays

HANDED_ON = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH")
"""Environment variables that the process receives: no keys."""
QUIET = {"DO_NOT_TRACK": "1", "GX_ANALYTICS_ENABLED": "false", "TQDM_DISABLE": "1"}
"""Switches off usage statistics; this version sends none, later ones might."""
PATIENCE_S = 5.0


class NotInspected(OldWarehouseStays):
    """Reason why expectations could not be checked, with the remedy."""

    headline = "the expectations could not be checked"


class Inspector:
    """Runs Great Expectations in a process of its own, which imports it while the `with` block runs.

    That process ends with this one, even if this one is killed, because its pipe is then closed.
    """

    def __init__(self) -> None:
        """Raises `NotInspected` if no process can be started."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `__exit__`, read before
        environment = {name: os.environ[name] for name in HANDED_ON if name in os.environ}
        try:
            self._process = subprocess.Popen(
                # -P: do not import a folder `warehouse` of the current directory
                [sys.executable, "-P", "-m", "biasgrid.warehouse.expectations"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**environment, **QUIET},
                start_new_session=True,  # Ctrl-C in a terminal reaches the parent, which then ends this process
            )
        except OSError as error:
            self._errors.close()
            raise NotInspected(as_problem(str(error))) from error

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, request: dict[str, Any]) -> None:
        """Begins an inspection, or sends a table for validation. Raises `NotInspected` if the process has
        ended."""
        requests = self._process.stdin
        assert requests is not None  # noqa: S101 - a pipe
        try:
            requests.write(orjson.dumps(request) + b"\n")
            requests.flush()
        except OSError as error:
            raise NotInspected(as_problem(self._last_words())) from error

    def judge(self, pages: Path) -> set[tuple[str, str]]:
        """Relation and sentence of each failed expectation of the inspection; also writes its pages. Raises
        `NotInspected` if the process has ended or failed."""
        self.send({"pages": str(pages)})
        answers = self._process.stdout
        assert answers is not None  # noqa: S101 - a pipe
        if not (answer := answers.readline()):
            raise NotInspected(as_problem(self._last_words()))
        read: dict[str, Any] = orjson.loads(answer)
        if "error" in read:
            raise NotInspected(as_problem(read["error"]))
        return {(relation, sentence) for relation, sentence in read["failed"]}

    def _last_words(self) -> str:
        code = self._process.wait(PATIENCE_S)
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"its process ended with code {code}"

    def __enter__(self) -> Inspector:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()


@contextmanager
def start_inspector(wanted: bool) -> Iterator[Inspector | None]:
    """An inspector that loads while models answer; None if not `wanted`. Raises `NotInspected`."""
    if not wanted:
        yield None
        return
    with Inspector() as inspector:
        yield inspector


def as_problem(why: str) -> Problem:
    """The problem and its remedy if nothing was checked."""
    return Problem(
        f"the process that checks expectations gave up: {why}",
        remedy="`biasgrid warehouse check` tries again; if it ends like this, install anew (`make env`), or go on "
        "without: `biasgrid warehouse build`",
    )
