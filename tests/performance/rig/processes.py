"""Whole processes, measured from outside: how long, how much of the processor, how much memory."""

import math
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from peers.recipe import Launch

PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6
TICKS = os.sysconf("SC_CLK_TCK")
EVERY_S = 0.1


@dataclass(frozen=True)
class Spent:
    """Of one process and its children."""

    started: float
    """In seconds of `time.monotonic`."""
    wall_s: float
    cpu_s: float
    """Of children that were waited for too."""
    peak_mb: float
    """Resident memory, children that run at the same time added up; pages they share count more than once."""
    own_mb: tuple[tuple[float, float], ...]
    """Of the process alone: when (seconds of `time.monotonic`), and how much."""
    code: int
    output: str

    @property
    def own_peak_mb(self) -> float:
        return self.own_peak_until(math.inf)

    def own_peak_until(self, moment: float) -> float:
        """Of the process alone, before a moment of `time.monotonic`."""
        return max((size for when, size in self.own_mb if when <= moment), default=0.0)


def run_measured(launch: Launch) -> Spent:
    """Run a command to its end. What it writes goes to `output.txt` in its folder."""
    log = launch.folder / "output.txt"
    with log.open("wb") as output:
        started = time.monotonic()
        process = subprocess.Popen(
            [*map(str, launch.command)],
            cwd=launch.folder,
            env=os.environ | dict(launch.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        sampler = Sampler(process.pid)
        sampler.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        peak, own = sampler.stop()
    cpu = usage.ru_utime + usage.ru_stime
    return Spent(started, wall, cpu, peak, own, process.returncode, log.read_text(errors="replace"))


class Sampler(threading.Thread):
    """Adds up the resident memory of a process and its children, ten times a second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._ended = threading.Event()
        self._peak = 0.0
        self._own: list[tuple[float, float]] = []

    def run(self) -> None:
        while not self._ended.wait(EVERY_S):
            sizes = [resident_mb(pid) for pid in family(self._pid)]
            self._peak = max(self._peak, sum(sizes))
            self._own.append((time.monotonic(), sizes[0]))

    def stop(self) -> tuple[float, tuple[tuple[float, float], ...]]:
        """The peak of all together, and the moments of the process alone, in MB."""
        self._ended.set()
        self.join()
        return self._peak, tuple(self._own)


def family(pid: int) -> Iterator[int]:
    """A process and all that descend from it."""
    yield pid
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        for child in _read(thread / "children").split():
            yield from family(int(child))


def resident_mb(pid: int) -> float:
    """0 where the process has ended."""
    fields = _read(Path(f"/proc/{pid}/statm")).split()
    return int(fields[1]) * PAGE_MB if fields else 0.0


def cpu_s(pid: int) -> float:
    """What a family has used so far; 0 where it has ended."""
    return sum(_cpu_s(member) for member in family(pid))


def _cpu_s(pid: int) -> float:
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS if fields else 0.0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended meanwhile
        return ""
