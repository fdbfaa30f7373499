"""Ends of the `biasgrid` process: lost output is reported, and no thread keeps it waiting."""

from __future__ import annotations

import atexit
import errno
import os
import sys
from contextlib import suppress
from typing import NoReturn

import typer

UNWRITTEN = 120
"""Python's own exit code where standard output could not be written to the end."""
LOST = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE, errno.EBADF})
"""How a stream fails. Files of the lake and reports that cannot be written are reported before, by their paths."""


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


def report_lost_output(error: OSError) -> None:
    """Reports incomplete output, unless its reader has gone."""
    if error.errno != errno.EPIPE:
        print_error(f"biasgrid: the output cannot be written: {error.strerror}")


def print_error(words: str) -> None:
    with suppress(OSError):  # a message that cannot be written changes no exit code
        typer.echo(words, err=True)
