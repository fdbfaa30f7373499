"""Reserves disk space for a run, so that paid replies in flight can be stored if the disk is full."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from biasgrid.warehouse.storage.errors import StorageTrouble, storing

HELD_BYTES = 2 * 1024 * 1024
"""Bytes for a thousand replies and the run's last events."""


class Reserve:
    """Reserved space and storage error of one run in one process.

    After an error, the run sends no more requests; only replies in flight and events are written.
    """

    _of_runs: dict[Path, Reserve] = {}  # noqa: RUF012 - of the process, as its file descriptors are

    def __init__(self, folder: Path, part: str | None = None) -> None:
        self.path = folder / (f".reserve-{part}" if part else ".reserve")
        self.trouble: StorageTrouble | None = None
        self.lost = 0
        """Number of replies that were received but could not be stored."""

    @classmethod
    def of(cls, folder: Path) -> Reserve:
        """The reserve of the run whose journals are in `folder`; an empty one if none is held."""
        return cls._of_runs.get(folder) or cls(folder)

    @classmethod
    def hold(cls, folder: Path, part: str | None = None) -> Reserve:
        """Allocates the space, once per run and process, and separately per `part` of a run. Raises
        `StorageTrouble` if there is not enough."""
        if folder in cls._of_runs:
            return cls._of_runs[folder]
        reserve = cls(folder, part)
        try:
            with storing(reserve.path):
                folder.mkdir(parents=True, exist_ok=True)
                _allocate(reserve.path)
        except BaseException:  # Ctrl-C too must leave no reserved space behind
            reserve._free()
            raise
        cls._of_runs[folder] = reserve
        return reserve

    def spend(self, trouble: StorageTrouble) -> bool:
        """Records the first error and frees the space. Returns whether a retry is useful."""
        self.trouble = self.trouble or trouble
        self._free()
        return trouble.is_full

    def refuse_more(self) -> None:
        """Raises a new copy of the recorded error: one object raised in several places would become its own
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
        # not supported by all operating and file systems
        if isinstance(error, OSError) and error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise
        os.pwrite(file, bytes(HELD_BYTES), 0)
