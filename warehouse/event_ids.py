"""Ids of runs and of their events, which sort as they were made, also where a clock is set back."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from ulid import ULID

AHEAD = timedelta(days=1)
"""An id further in the future is of a machine whose clock is wrong by more than a change of clocks."""


class EventIds:
    """Makes ULIDs, each greater than all that were made or noted before: a hybrid logical clock."""

    def __init__(self) -> None:
        self._newest = ULID.from_int(0)
        self._lock = threading.Lock()

    def make(self) -> str:
        with self._lock:
            fresh = ULID()
            self._newest = fresh if fresh > self._newest else ULID.from_int(int(self._newest) + 1)
            return str(self._newest)

    def note(self, ids: Iterable[str]) -> None:
        """Takes note of ids that were read; those that are no ULIDs are left out."""
        latest = datetime.now(UTC) + AHEAD
        for one in ids:
            with suppress(ValueError):
                found = ULID.from_str(one)
                with self._lock:
                    self._newest = max(self._newest, found) if found.datetime < latest else self._newest


EVENT_IDS = EventIds()
"""Of this process."""
