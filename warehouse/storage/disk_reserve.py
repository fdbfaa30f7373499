"""Space that a run holds back, so that replies on their way when the disk is full, and paid for, still land."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from biasgrid.warehouse.storage.errors import StorageTrouble, storing

HELD_BYTES = 2 * 1024 * 1024
"""Room for a thousand replies and the run's last events."""


class Reserve:
    """Of one run in one process: what it holds back, and what became of its storage.

    Once there is trouble, the run sends nothing more; only replies that are in flight and events are written.
    """

    _of_runs: dict[Path, Reserve] = {}  # noqa: RUF012 - of the process, as its file descriptors are

    def __init__(self, folder: Path, part: str | None = None) -> None:
        self.path = folder / (f".reserve-{part}" if part else ".reserve")
        self.trouble: StorageTrouble | None = None
        self.lost = 0
        """Replies that arrived and could not be kept."""

    @classmethod
    def of(cls, folder: Path) -> Reserve:
        """The reserve of the run with its journals in `folder`; one that holds nothing, where none is held."""
        return cls._of_runs.get(folder) or cls(folder)

    @classmethod
    def hold(cls, folder: Path, part: str | None = None) -> Reserve:
        """Takes the space, once for a run and process; each that writes a `part` of a run has its own. Raises
        `StorageTrouble` where there is none: such a run would not get far."""
        if folder in cls._of_runs:
            return cls._of_runs[folder]
        reserve = cls(folder, part)
        try:
            with storing(reserve.path):
                folder.mkdir(parents=True, exist_ok=True)
                _allocate(reserve.path)
        except BaseException:
            reserve._free()
            raise
        cls._of_runs[folder] = reserve
        return reserve

    def spend(self, trouble: StorageTrouble) -> bool:
        """Notes the trouble, the first of several, and makes room. Returns whether another try is worth it."""
        self.trouble = self.trouble or trouble
        self._free()
        return trouble.is_full

    def refuse_more(self) -> None:
        """Raises the trouble that there is, each time anew: one error in several places at once would be its own
        cause."""
        if self.trouble is not None:
            raise StorageTrouble(*self.trouble.args)

    def release(self) -> None:
        self._free()
        self._of_runs.pop(self.path.parent, None)

    def _free(self) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def _allocate(path: Path) -> None:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _fill(file)
    finally:
        os.close(file)


def _fill(file: int) -> None:
    try:
        os.posix_fallocate(file, 0, HELD_BYTES)
    except (AttributeError, OSError) as error:
        # not on every system, and not of every file system
        if isinstance(error, OSError) and error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise
        os.pwrite(file, bytes(HELD_BYTES), 0)
