"""The `biasgrid` process: quick to begin, and gone as soon as it has spoken."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import NoReturn

from biasgrid.flows.cli import UNWRITTEN, main, report_lost_output

PATIENT_COLLECTION = (10_000, 10, 10)
"""New objects before the garbage collector looks through them: Prefect makes a million when it is imported, and at
Python's own 700 every fifth second of a start goes into looking through what all stays."""


def run() -> NoReturn:
    """The command, in a process of its own."""
    gc.set_threshold(*PATIENT_COLLECTION)
    code: str | int | None = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    leave(code if isinstance(code, int) else int(code is not None))


def leave(code: int) -> NoReturn:
    """End now: taking hundreds of modules apart takes as long as a second, and worker threads that a cancelled
    flow leaves behind would keep the process waiting for ever."""
    atexit._run_exitfuncs()  # stops Prefect's temporary server, sends on what its log still holds
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except ValueError:  # it has been closed
            code = code or UNWRITTEN
        except OSError as lost:
            if code != UNWRITTEN:
                report_lost_output(lost)
            code = code or UNWRITTEN
    os._exit(code)
