"""Storage errors: a full, broken or read-only disk, a damaged lake."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from biasgrid.catalogs.errors import Problem, UserError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
LIMITED = frozenset({errno.EFBIG})
FORBIDDEN = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
BROKEN = frozenset({errno.EIO, errno.ENXIO, errno.ENODEV, errno.ESTALE})
REMEDIES: Mapping[frozenset[int], str] = {
    FULL: "free some space there",
    LIMITED: "raise the limit on the size of files (`ulimit -f`)",
    FORBIDDEN: "make it writable again",
    BROKEN: "see to the disk or the connection to it",
}


class StorageTrouble(UserError):
    """A write failed: what, at which path, and the remedy. Exit code 3: stored data stays readable, and `biasgrid
    resume` continues from there."""

    def __init__(
        self, path: Path | str, code: int, run_id: str | None = None, lost: int = 0, why: str = ""
    ) -> None:
        """`lost`: number of replies received but not stored. `why`: message `cannot be …: …` of storage without
        error codes."""
        super().__init__(_problem(path, code, run_id, lost, why))
        self.args = (path, code, run_id, lost, why)
        self.path, self.code, self.run_id, self.lost, self.why = path, code, run_id, lost, why

    @classmethod
    def behind(cls, error: BaseException, path: Path) -> StorageTrouble | None:
        """The storage error at `path` that an exception reports; None for other exceptions."""
        if isinstance(error, StorageTrouble):
            return error
        code = _code(error)
        return None if code is None else cls(path, code)

    @property
    def is_full(self) -> bool:
        """Whether space is missing, so that freeing the reserve helps."""
        return self.code in FULL

    def of_run(self, run_id: str, lost: int) -> StorageTrouble:
        """The same error, with the run that it ended."""
        return StorageTrouble(self.path, self.code, run_id, lost, self.why)


class OldWarehouseStays(UserError):
    """Why the old warehouse was not replaced, with the remedy. Exit code 3."""

    headline = "no new warehouse could be made"


class LakeDamaged(OldWarehouseStays):
    """Damage in the lake: what, in which file, and the remedy."""

    headline = "the lake is damaged"


class storing:  # noqa: N801 - used as `with storing(path):`
    """Raises `StorageTrouble` in place of a library's error if `path` cannot be written."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        trouble = None if error is None else StorageTrouble.behind(error, self._path)
        if trouble is not None and trouble is not error:
            raise trouble from error


def _code(error: BaseException) -> int | None:
    known = frozenset[int]().union(*REMEDIES)
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno if error.errno in known else None
    # DuckDB and Polars repeat the system's message without its error number
    text = str(error).lower()
    return next((code for code in sorted(known) if os.strerror(code).lower() in text), None)


def _problem(path: Path | str, code: int, run_id: str | None, lost: int, why: str) -> Problem:
    remedy = next(remedy for codes, remedy in REMEDIES.items() if code in codes)
    remedy = "see what is wrong with it (`biasgrid doctor`)" if why else remedy
    then = f"go on with `biasgrid resume {run_id}`" if run_id else "try again"
    why = why or f"cannot be written: {os.strerror(code)}"
    return Problem(f"`{path}` {why}{_loss(lost)}", remedy=f"{remedy}, then {then}")


def _loss(lost: int) -> str:
    if not lost:
        return ""
    replies = "1 reply that had arrived is" if lost == 1 else f"{lost} replies that had arrived are"
    return f"; {replies} lost and will be asked for again"
