"""Signals end a command with one line and exit code 128 + their number; what is in flight lands first.

The command runs in a thread of its own, and the main thread waits for signals. No signal interrupts the command's
code, no library replaces the handlers, and compiled code delays none.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

T = TypeVar("T")
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_S: Final = 20.0
"""Seconds for requests in flight to land and for a run to record that it was interrupted."""
HURRY_S: Final = 5.0
"""Seconds after a second signal."""
SAME_S: Final = 1.0
"""A signal to the process and to its group within this time counts as one."""
CRASHED: Final = 3
FIRST: Final = 254
"""What is written to the pipe of signals when the first supervised work has ended."""
SHOW_CURSOR: Final = "\x1b[?25h"


class Stop(NamedTuple):
    """How work that can be stopped in order is stopped."""

    begin: Callable[[], object]
    hurry: Callable[[], object]
    grace_s: float


class Interruption:
    """The signals of this process. Without `watch`, as in tests and for Python callers, there are none."""

    def __init__(self) -> None:
        self.signal: int | None = None
        """The first one that came."""
        self.advice: Callable[[], str] = str
        """How to continue, in words; empty if there is nothing to continue."""
        self.closes: list[Callable[[], object]] = []
        """What ends other processes that this one has started."""
        self._since = 0.0
        self._stops: list[Stop] = []
        self._lock = threading.Lock()
        self._reads = self._writes = -1
        self._ended = FIRST + 1
        self._terminal: list[Any] | None = None
        self._is_reported = False

    @property
    def is_watched(self) -> bool:
        return self._writes >= 0

    def begin(self) -> None:
        """A command begins, without advice yet. A signal that came before has ended it, and is reported once."""
        self.advice = str
        with self._lock:
            if self.signal is None:
                self._is_reported = False

    def watch(self) -> None:
        """From now on signals are received, unless they were ignored before, as `nohup` does."""
        self._reads, self._writes = os.pipe()
        os.set_blocking(self._writes, False)
        signal.set_wakeup_fd(self._writes, warn_on_full_buffer=False)
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _ignore)
        self._terminal = _terminal_settings()

    def supervise(self, work: Callable[[], int], grace_s: float = 0.0) -> int:
        """Exit code of `work`, or 128 + the number of the signal that has come; `grace_s`: seconds that work
        without a `stoppable` part may take after a signal."""
        codes: list[int] = []
        self._ended = ended = self._ended - 1  # no signal's number

        def run() -> None:
            try:
                codes.append(work())
            finally:
                os.write(self._writes, bytes([ended]))

        deadline = None if self.signal is None else time.monotonic() + grace_s
        threading.Thread(target=run, name="command", daemon=True).start()
        while (number := self._next(deadline)) not in (ended, None):
            if number in SIGNALS:
                deadline = self._take(int(number or 0), deadline, grace_s)
        if self.signal is None:
            return codes[0] if codes else CRASHED
        self.report(self.signal)
        return 128 + self.signal

    @contextmanager
    def stoppable(
        self, begin: Callable[[], object], hurry: Callable[[], object] | None = None, grace_s: float = GRACE_S
    ) -> Iterator[None]:
        """Work that `begin` stops in order within `grace_s` seconds, and `hurry` faster. After a signal it neither
        begins nor returns: the process ends."""
        stop = Stop(begin, hurry or begin, grace_s)
        with self._lock:
            self._stops.append(stop)
            self._wait_for_end()
        try:
            yield
        finally:
            with self._lock:
                self._stops.remove(stop)
                self._wait_for_end()

    def report(self, number: int) -> None:
        """Prints once that the command was interrupted, and how to continue; nothing is printed afterwards."""
        if self._is_reported:
            return
        self._is_reported = True
        words: list[str] = []
        advising = threading.Thread(target=lambda: words.append(self.advice()), daemon=True)
        advising.start()  # it may read a lake on storage that does not answer
        advising.join(HURRY_S)
        name = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
        line = f"biasgrid: interrupted{name}{f'; {words[0]}' if words and words[0] else ''}\n"
        if not self.is_watched:
            sys.stderr.write(line)
            return
        encoding = sys.stderr.encoding
        sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the end
        _restore_terminal(self._terminal)
        with suppress(OSError):
            os.write(2, line.encode(encoding, "backslashreplace"))

    def _next(self, deadline: float | None) -> int | None:
        """The next signal's number, or what work writes at its end; None after the deadline."""
        patience_s = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        ready, _, _ = select.select([self._reads], [], [], patience_s)
        return os.read(self._reads, 1)[0] if ready else None

    def _take(self, number: int, deadline: float | None, grace_s: float) -> float:
        """Stops what can be stopped; the time until which that is waited for."""
        now = time.monotonic()
        with self._lock:
            stop = self._stops[-1] if self._stops else None
            if self.signal is None:
                self.signal, self._since = number, now
                if stop:
                    stop.begin()
                return now + (stop.grace_s if stop else grace_s)
            if stop and now - self._since > SAME_S:
                stop.hurry()
                return min(deadline or now, now + HURRY_S)
            return deadline or now

    def _wait_for_end(self) -> None:
        """After a signal: lets the main thread end the process, and does not return. The caller holds the lock."""
        if self.signal is not None:
            self._lock.release()
            os.write(self._writes, bytes([FIRST]))
            threading.Event().wait()


interruption: Final = Interruption()


def run_stoppable(begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What a coroutine returns. A signal cancels it; raises KeyboardInterrupt if anything else does."""
    import asyncio

    async def work() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 - this coroutine runs as one
        with interruption.stoppable(lambda: loop.call_soon_threadsafe(task.cancel)):
            return await begin()

    try:
        return asyncio.run(work())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _ignore(*_: object) -> None:
    """A handler of Python's: with one, signals are written to the pipe."""


def _terminal_settings() -> list[Any] | None:
    if not os.isatty(0):
        return None
    import termios

    return termios.tcgetattr(0)


def _restore_terminal(settings: list[Any] | None) -> None:
    """Undoes what a prompt or a progress bar changed."""
    if os.isatty(2):
        with suppress(OSError):
            os.write(2, f"{SHOW_CURSOR}\n".encode())
    # in the background, changing a terminal would stop this process
    if settings is None or os.tcgetpgrp(0) != os.getpgrp():
        return
    import termios

    with suppress(termios.error):
        termios.tcsetattr(0, termios.TCSANOW, settings)
