"""Ends of the `biasgrid` process: lost output is reported, and no thread keeps it waiting."""

from __future__ import annotations

import atexit
import errno
import os
import sys
from contextlib import suppress
from typing import NoReturn

from biasgrid.flows.operations.interruption import interruption

UNWRITTEN = 120
"""Python's own exit code where standard output could not be written to the end."""
UNREAD = 141
"""A shell's exit code for a command whose output nothing reads any more, as of `biasgrid show | head -1`."""
LOST = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE, errno.EBADF})
"""How a stream fails. Files of the lake and reports that cannot be written are reported before, by their paths."""
CLOSE_S = 7.0
"""Seconds that an interrupted process takes at most to end Prefect's temporary server."""


def exit_code(ended: SystemExit) -> int:
    """The code of an end, whose libraries exit with 1 where the reader of their output has gone."""
    if is_unread(ended.__context__):
        return UNREAD
    return ended.code if isinstance(ended.code, int) else int(ended.code is not None)


def is_unread(error: BaseException | None) -> bool:
    """Whether the reader of the output has gone; errors of sockets have the same number."""
    return isinstance(error, OSError) and error.errno == errno.EPIPE and error.filename is None


def leave(code: int) -> NoReturn:
    """End now: taking hundreds of modules apart takes as long as a second, and worker threads that a cancelled
    flow leaves behind would keep the process waiting for ever."""
    os._exit(interruption.supervise(lambda: _close(code), CLOSE_S) if interruption.is_watched else _close(code))


def _close(code: int) -> int:
    if interruption.signal is not None:  # the command's thread may still use what others clean up
        for close in interruption.closes:
            close()
        return code
    atexit._run_exitfuncs()  # stops Prefect's temporary server, sends on what its log still holds
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except ValueError:  # it has been closed
            code = code or UNWRITTEN
        except OSError as lost:
            if code != UNWRITTEN:
                report_lost_output(lost)
            code = UNREAD if is_unread(lost) else code or UNWRITTEN
    return code


def report_lost_output(error: OSError) -> None:
    """Reports incomplete output, unless its reader has gone."""
    if error.errno != errno.EPIPE:
        print_error(f"biasgrid: the output cannot be written: {error.strerror}")


def print_error(words: str) -> None:
    with suppress(OSError):  # a message that cannot be written changes no exit code
        sys.stderr.write(f"{words}\n")
        sys.stderr.flush()
