"""Durations of what runs in this process, and how busy the machine was."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def time_of(act: Callable[[], T], times: int = 3) -> tuple[float, T]:
    """The least of some durations, in seconds, and the last result."""
    took = []
    for _ in range(times):
        started = time.perf_counter()
        result = act()
        took.append(time.perf_counter() - started)
    return min(took), result


def seconds(act: Callable[[], object], times: int = 3) -> float:
    """The least of some durations."""
    return time_of(act, times)[0]


def load() -> float:
    """Processes that wanted a core during the last minute."""
    return os.getloadavg()[0]
