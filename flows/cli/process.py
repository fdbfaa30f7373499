"""The `biasgrid` process: it starts fast, and ends as soon as its output is written."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

import biasgrid
from biasgrid.flows.cli.exits import exit_code, leave
from biasgrid.flows.operations.interruption import interruption

PATIENT_COLLECTION = (10_000, 10, 10)
"""New objects before the garbage collector looks through them: Prefect makes a million when it is imported, and at
Python's own 700 every fifth second of a start goes into looking through what all stays."""


M_MMAP_THRESHOLD, LARGE_BLOCK = -3, 1_000_000
"""Of glibc's `mallopt`, and the bytes from which a freed block goes back to the system. Left alone, glibc
keeps ever larger blocks: 200 MB after a few replies of 4 MB."""

M_ARENA_MAX, ARENAS = -8, 2
"""Of glibc's `mallopt`, and how many heaps it keeps: left alone, each of the threads of DuckDB, Polars and Prefect
gets its own, and what one has freed no other uses."""

ARROW_POOL = ("ARROW_DEFAULT_MEMORY_POOL", "system")
"""Arrow takes its memory from glibc, too: the pool that it brings along keeps what is freed."""


def run() -> NoReturn:
    """The command, in a process of its own."""
    _open_closed_streams()
    interruption.watch()
    gc.set_threshold(*PATIENT_COLLECTION)
    _limit_memory_kept()
    biasgrid.is_command = True
    leave(interruption.supervise(_run_command))


def _limit_memory_kept() -> None:
    """Before anything with threads or memory pools of its own is imported."""
    os.environ.setdefault(*ARROW_POOL)
    with suppress(AttributeError, OSError, TypeError):  # another C library has no such options
        allocator = ctypes.CDLL(None)
        allocator.mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)
        allocator.mallopt(M_ARENA_MAX, ARENAS)


def _open_closed_streams() -> None:
    """Standard streams that the shell has closed, as by `<&-`: input is empty, and output reports that it fails.
    Else the next file that is opened would be taken for them."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDONLY)  # the lowest number that is free
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - until the end


def _run_command() -> int:
    try:
        from biasgrid.flows.cli.commands import main

        main()
    except SystemExit as ended:
        return exit_code(ended)
    return 0
