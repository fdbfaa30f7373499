"""Runs a Python module until the parent process ends.

`python -m biasgrid.flows.operations.parent_watch MODULE ARGUMENTS`.

Standard input is a pipe to which nothing is written. The parent holds its other end, which the system closes
however the parent ends, `kill -9` included: this process then receives SIGTERM, which the parent may have blocked
in it, and SIGKILL if it does not end. So does its whole group where it leads one, as a worker with its runs.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

PATIENCE_S = 5.0


def main() -> None:
    """The module as `python -m` runs it, with the arguments that follow its name."""
    threading.Thread(target=_end_with_parent, name="parent watch", daemon=True).start()
    del sys.argv[0]
    code: object = 0
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))  # no thread keeps it waiting


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # a buffered read would hold a lock that Python wants when the module has ended
    end = os.killpg if os.getpgrp() == os.getpid() else os.kill
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    end(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE_S)
    end(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
