"""Responses land the moment they arrive: a line in their cell's journal, later Parquet.

A kill of the process loses at most what was in flight: every line is handed to the operating system whole,
by one call, before the next request is sent. Lines are not synced one by one, which would cost more than the
request: a power cut may lose what the system has not written yet, on Linux the last half minute, and Parquet
files, which are synced before their journal goes, not at all. What a cut loses is asked again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import filelock
import pyarrow.parquet as pq
from ulid import ULID

from catalogs.mistakes import Mistake, UserMistake
from warehouse.atomic import sweep
from warehouse.lake import Lake, checked_name
from warehouse.lines import Row, line, read_lines
from warehouse.reserve import Reserve
from warehouse.schemas import TABLES
from warehouse.trouble import StorageTrouble, storing

SEGMENT_ROWS = 20_000
SEGMENT_BYTES = 64 * 1024 * 1024
"""A long cell has a journal for each so many rows or bytes, so that memory stays small when it lands."""

SEGMENT = "~"
"""Parts a cell's id from its segment's in the name of a full journal; no name in the lake has it."""


PART = ".part-"
"""Parts a run from what one process writes of it in the name of a lock."""
BEGINNING_S = 10.0
"""How long the start of a part may wait for the starts of others."""


class RunBusy(UserMistake):
    """Another process writes this run."""

    @classmethod
    def named(cls, run_id: str) -> RunBusy:
        what = f"run `{run_id}` is being written by another process"
        return cls(Mistake(what, remedy="wait until it ends, or stop it, then try again"))


class RunLock:
    """One writer per run, or one per part of a run that several processes share, with some space held back for it.
    Goes with its process, so that a kill leaves no run locked.

    Who writes a whole run shares it with nobody: neither begins while the other is there.
    """

    def __init__(self, lake: Lake, run_id: str, part: str | None = None) -> None:
        """`part`: a name for what this process writes of the run, and nobody else."""
        self.run_id = run_id
        self._journals = lake.journal_folder(run_id)
        self._folder, self._name = lake.locks, f"run-{checked_name(run_id)}"
        self._part = part and checked_name(part)
        own = self._name if part is None else f"{self._name}{PART}{self._part}"
        self._lock = _lock(self._folder / f"{own}.lock")

    def __enter__(self) -> RunLock:
        """Raises `RunBusy` where another process holds it, `StorageTrouble` where a run has no room."""
        try:
            with storing(self._folder):
                self._folder.mkdir(parents=True, exist_ok=True)
                self._acquire()
        except filelock.Timeout as error:
            raise RunBusy.named(self.run_id) from error
        try:
            self._hold()
        except StorageTrouble as trouble:
            self._lock.release()
            raise trouble.of_run(self.run_id, 0) from trouble
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raises `StorageTrouble` in place of what it led to, told once and with what was lost."""
        reserve = Reserve.of(self._journals)
        if self._lock.lock_counter == 1:
            reserve.release()
        self._lock.release()
        if isinstance(error, Exception) and not self._lock.is_locked:
            self._tell(error, reserve)

    def _acquire(self) -> None:
        if self._part is None:
            self._lock.acquire()
            if self._lock.lock_counter == 1:
                self._refuse_parts()
            return
        # parts begin one after the other, while nobody has the whole
        with _lock(self._folder / f"{self._name}.lock").acquire(timeout=BEGINNING_S):
            self._lock.acquire()

    def _refuse_parts(self) -> None:
        try:
            for path in self._folder.glob(f"{self._name}{PART}*.lock"):
                with _lock(path):
                    continue
        except BaseException:
            self._lock.release()
            raise

    def _tell(self, error: Exception, reserve: Reserve) -> None:
        told = isinstance(error, StorageTrouble) and error.run_id is not None
        trouble = reserve.trouble or (error if isinstance(error, StorageTrouble) else None)
        if trouble is not None and not told:
            raise trouble.of_run(self.run_id, reserve.lost) from error

    def _hold(self) -> None:
        if self._lock.lock_counter == 1:
            Reserve.hold(self._journals, self._part)


def _lock(path: Path) -> filelock.BaseFileLock:
    """One lock per path in a process, so that whoever writes a run can also recover it."""
    return filelock.FileLock(path, timeout=0, thread_local=False, is_singleton=True)


class Journal:
    """The responses of one cell, appended line by line. For one writer: hold the run's `RunLock`."""

    def __init__(self, lake: Lake, run_id: str, cell_id: str, segment_rows: int = SEGMENT_ROWS) -> None:
        """Raises `StorageTrouble` where the run has met some: what is asked now could not be kept."""
        folder = lake.journal_folder(run_id)
        self.path = folder / f"{checked_name(cell_id)}.jsonl"
        self._lake = lake
        self._run_id = run_id
        self._segment_rows = segment_rows
        self._reserve = Reserve.of(folder)
        self._file: int | None = None
        self._rows = self._bytes = 0
        self._torn = False
        self._reserve.refuse_more()

    def append(self, row: Row) -> None:
        """Hands one response to the operating system before it returns.

        Raises `SchemaMismatch` for a column or value that `responses` cannot hold, and `StorageTrouble` where
        the run shall send nothing more; the response itself is kept all the same wherever there is a way.
        """
        self._keep(line(row))
        self._reserve.refuse_more()
        if self._rows >= self._segment_rows or self._bytes >= SEGMENT_BYTES:
            self._begin_segment()

    def land(self) -> list[Path]:
        """Turns what was appended into Parquet, a file a segment, and removes the journal. Takes a while, best
        spent in a thread: others go on beside it.

        Raises `StorageTrouble` where the run has met some: the journal stays, and lands when the run goes on.
        """
        self.close()
        self._rows = self._bytes = 0
        self._reserve.refuse_more()
        segments = _segments(self.path.parent, self.path.stem)
        landed = [_land(self._lake, self._run_id, journal) for journal in (*segments, self.path)]
        return [path for path in landed if path is not None]

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _begin_segment(self) -> None:
        self.close()
        self._rows = self._bytes = 0
        with suppress(OSError):  # a disk that refuses a name will refuse the next line, and say so
            self.path.rename(self.path.with_stem(f"{self.path.stem}{SEGMENT}{ULID()}"))

    def _keep(self, response: bytes) -> None:
        try:
            self._write(response)
        except OSError as error:
            self._keep_on_reserve(response, error)

    def _keep_on_reserve(self, response: bytes, error: OSError) -> None:
        trouble = StorageTrouble.behind(error, self.path)
        if trouble is None:
            raise error
        kept = False
        if self._reserve.spend(trouble):
            with suppress(OSError):
                self._write(response)
                kept = True
        self._reserve.lost += not kept

    def _write(self, response: bytes) -> None:
        if self._file is None:
            self._file, self._torn = _open(self.path)
        rest = memoryview(b"\n" + response if self._torn else response)
        self._torn = True
        while rest:
            rest = rest[os.write(self._file, rest) :]
        self._torn = False
        self._rows += 1
        self._bytes += len(response)


def recover(lake: Lake, run_id: str | None = None) -> int:
    """Turns left-over journals into Parquet and returns the number of responses rescued.

    Runs that another process writes are left alone; asking for such a run by name raises `RunBusy`.
    """
    if run_id is not None:
        return _recover_run(lake, run_id)
    rescued = 0
    for folder in sorted((lake.root / "journal").glob("run_id=*")):
        try:
            rescued += _recover_run(lake, folder.name.removeprefix("run_id="))
        except RunBusy:
            continue
    return rescued


def recover_part(lake: Lake, run_id: str, part: str, cells: Iterable[str]) -> int:
    """As `recover`, of some cells of a run whose other cells other processes write meanwhile."""
    folder = lake.journal_folder(run_id)
    with RunLock(lake, run_id, part), storing(lake.root):
        own = (
            path for cell in cells for path in (*_segments(folder, cell), folder / f"{checked_name(cell)}.jsonl")
        )
        return _rescued(lake, run_id, own)


def _recover_run(lake: Lake, run_id: str) -> int:
    with RunLock(lake, run_id), storing(lake.root):
        for table in TABLES:
            sweep(lake.folder(table, run_id))
        return _rescued(lake, run_id, sorted(lake.journal_folder(run_id).glob("*.jsonl")))


def _rescued(lake: Lake, run_id: str, journals: Iterable[Path]) -> int:
    landed = [_land(lake, run_id, journal) for journal in journals]
    return sum(pq.read_metadata(path).num_rows for path in landed if path is not None)


def _segments(folder: Path, cell_id: str) -> list[Path]:
    return sorted(folder.glob(f"{checked_name(cell_id)}{SEGMENT}*.jsonl"))


def _land(lake: Lake, run_id: str, journal: Path) -> Path | None:
    if not journal.exists():
        return None
    cell_id = journal.stem.partition(SEGMENT)[0]
    # a kill between landing and unlinking leaves a journal whose rows have landed already
    landed = lake.scan("responses", run_id, f"{cell_id}-*").select("response_id")
    rows = read_lines(journal).join(landed.collect(), on="response_id", how="anti", maintain_order="left")
    path = lake.write("responses", run_id, f"{cell_id}-{ULID()}", rows) if rows.height else None
    with storing(journal):
        journal.unlink()
    return path


def _open(path: Path) -> tuple[int, bool]:
    """A descriptor to append to, and whether the file ends within a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    size = os.fstat(file).st_size
    return file, size > 0 and os.pread(file, 1, size - 1) != b"\n"
