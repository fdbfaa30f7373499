"""The process that imports Great Expectations and judges, as seen from the process that starts it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from biasgrid.catalogs.errors import Problem
from biasgrid.warehouse.storage.errors import OldWarehouseStays

HANDED_ON = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH")
"""Variables that the process gets: none of them a key."""
QUIET = {"DO_NOT_TRACK": "1", "GX_ANALYTICS_ENABLED": "false", "TQDM_DISABLE": "1"}
"""Nothing about its use is sent anywhere: this version does not, and others shall not."""
PATIENCE_S = 5.0


class NotInspected(OldWarehouseStays):
    """Why expectations could not be checked, and what to do."""

    headline = "the expectations could not be checked"


class Inspector:
    """Used as `with Inspector() as inspector`: Great Expectations is imported meanwhile, in a process of its own.

    That process ends with this one, even where this one is killed: it listens to a pipe that is then closed.
    """

    def __init__(self) -> None:
        """Raises `NotInspected` where no process can be started."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `__exit__`, read before
        environment = {name: os.environ[name] for name in HANDED_ON if name in os.environ}
        try:
            self._process = subprocess.Popen(
                # -P: a folder `warehouse` where the command was typed is not this package
                [sys.executable, "-P", "-m", "biasgrid.warehouse.expectations"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**environment, **QUIET},
                start_new_session=True,  # Ctrl-C in a terminal is for the parent, which then ends it
            )
        except OSError as error:
            self._errors.close()
            raise NotInspected(as_problem(str(error))) from error

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, request: dict[str, Any]) -> None:
        """Begins an inspection, or has a table judged. Raises `NotInspected` where the process has ended."""
        requests = self._process.stdin
        assert requests is not None  # noqa: S101 - a pipe
        try:
            requests.write(orjson.dumps(request) + b"\n")
            requests.flush()
        except OSError as error:
            raise NotInspected(as_problem(self._last_words())) from error

    def judge(self, pages: Path) -> set[tuple[str, str]]:
        """The relation and sentence of each expectation that fails, of the tables of an inspection; writes
        the pages about them. Raises `NotInspected` where the process has ended or failed."""
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()


@contextmanager
def start_inspector(wanted: bool) -> Iterator[Inspector | None]:
    """An inspector that loads while models answer; None where none is wanted. Raises `NotInspected`."""
    if not wanted:
        yield None
        return
    with Inspector() as inspector:
        yield inspector


def as_problem(why: str) -> Problem:
    """Why nothing was checked, and what to do."""
    return Problem(
        f"the process that checks expectations gave up: {why}",
        remedy="`biasgrid warehouse check` tries again; if it ends like this, install anew (`make env`), or go on "
        "without: `biasgrid warehouse build`",
    )
