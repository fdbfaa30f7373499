"""The `biasgrid` process: quick to begin, and gone as soon as it has spoken."""

from __future__ import annotations

import gc
from typing import NoReturn

from biasgrid.flows.cli import main
from biasgrid.flows.cli.exits import leave

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
