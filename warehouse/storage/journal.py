"""Stores each response on arrival as a line in its cell's journal, which later becomes Parquet.

A killed process loses at most the requests in flight: each line is written by one system call before the next
request is sent. Lines are not synced one by one, which would cost more than the request: a power cut can lose
unwritten lines, on Linux those of the last 30 seconds, but no Parquet files, which are synced before their journal
is removed. Lost replies are requested again.

Shared storage has no append and no rename: new lines are uploaded every two seconds as a segment, a separate
object; a start on any machine converts all segments to Parquet.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
from ulid import ULID

from biasgrid.catalogs.errors import Problem
from biasgrid.warehouse.schemas import TABLES, UNITS
from biasgrid.warehouse.storage.atomic_file import remove_partial_files
from biasgrid.warehouse.storage.compaction import sign_unsigned_packs
from biasgrid.warehouse.storage.disk_reserve import Reserve
from biasgrid.warehouse.storage.errors import StorageTrouble, storing
from biasgrid.warehouse.storage.journal_lines import Row, line, read_lines
from biasgrid.warehouse.storage.lake import Lake, check_name
from biasgrid.warehouse.storage.objects.segments import find_segments, interrupted_runs, write_journal
from biasgrid.warehouse.storage.objects.uploader import Uploader
from biasgrid.warehouse.storage.run_lock import RunBusy, RunLock

SEGMENT_ROWS = 20_000
SEGMENT_BYTES = 32 * 1024 * 1024
"""A long cell has one journal per this number of rows or bytes, to limit memory during conversion."""

JUDGED = "judge-"
"""Prefix of the journal with a judge's replies about a cell."""

UNIT = list(UNITS["responses"])

SEGMENTS = 300
"""Number of two-second segments that are merged into one journal."""

SEGMENT = "~"
"""Separates cell id and segment id in the name of a full journal; names in the lake never contain it."""


LISTENERS: list[Callable[[Row], None]] = []
"""Called with each response once it is stored, in this process."""


class Journal:
    """The responses of one cell, appended line by line. For one writer: hold the run's `RunLock`."""

    def __init__(self, lake: Lake, run_id: str, cell_id: str, segment_rows: int = SEGMENT_ROWS) -> None:
        """Raises `StorageTrouble` if the run has had a storage error, since new replies could not be stored."""
        folder = lake.journal_folder(run_id)
        self.path = folder / f"{check_name(cell_id)}.jsonl"
        self._lake = lake
        self._run_id = run_id
        self._segment_rows = segment_rows
        self._reserve, self._courier = Reserve.of(folder), Uploader.of(folder)
        self._file: int | None = None
        self._rows = self._bytes = 0
        self._torn = False
        self._reserve.refuse_more()

    def append(self, row: Row) -> None:
        """Writes one response to the operating system before it returns.

        Raises `SchemaMismatch` for a column or value that `responses` cannot hold, and `StorageTrouble` if the run
        must send no more requests; the response itself is stored if at all possible.
        """
        response = line(row)
        try:
            self._write(response)
        except OSError as error:
            self._keep_on_reserve(response, error)
        if self._courier:
            self._courier.hand(self.path.stem, response)
        for listen in LISTENERS:
            listen(row)
        self._reserve.refuse_more()
        if self._rows >= self._segment_rows or self._bytes >= SEGMENT_BYTES:
            self._begin_segment()

    def land(self) -> list[Path]:
        """Converts the journal to Parquet, one file per segment, and removes it. Slow: call it in a thread.

        Raises `StorageTrouble` if the run has had a storage error: the journal is kept until the run is resumed.
        """
        self.close()
        self._rows = self._bytes = 0
        self._reserve.refuse_more()
        full = sorted(self.path.parent.glob(f"{self.path.stem}{SEGMENT}*{self.path.suffix}"))
        landed = [_land(self._lake, self._run_id, journal) for journal in (*full, self.path)]
        if self._courier:
            self._courier.remove_segments(self.path.stem)
        return [path for path in landed if path is not None]

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _begin_segment(self) -> None:
        self.close()
        self._rows = self._bytes = 0
        with suppress(OSError):  # a disk that refuses a name also refuses the next line, with an error
            self.path.rename(self.path.with_stem(f"{self.path.stem}{SEGMENT}{ULID()}"))

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


def recover(
    lake: Lake, run_id: str | None = None, *, part: str | None = None, cells: Collection[str] | None = None
) -> int:
    """Converts left-over journals to Parquet and returns the number of recovered responses.

    Skips runs that another process writes; if `run_id` names such a run, raises `RunBusy`. A writer of a `part` of
    a run passes its `cells`; journals of other cells are unchanged.
    """
    if run_id is not None:
        return _recover_run(lake, run_id, part, cells)
    here = (folder.name.removeprefix("run_id=") for folder in (lake.root / "journal").glob("run_id=*"))
    rescued = 0
    for left in sorted({*here, *(interrupted_runs(lake.shared) if lake.shared else ())}):
        with suppress(RunBusy):
            rescued += _recover_run(lake, left)
    return rescued


def _recover_run(lake: Lake, run_id: str, part: str | None = None, cells: Collection[str] | None = None) -> int:
    with RunLock(lake, run_id, part), storing(lake.root):
        for table in TABLES if part is None else ():  # other processes may be writing theirs
            remove_partial_files(lake.folder(table, run_id))
        if part is None:
            sign_unsigned_packs(lake, run_id)
        collected = _collect_segments(lake, run_id, cells)
        journals = sorted(lake.journal_folder(run_id).glob("*.jsonl"))
        own = [journal for journal in journals if _is_of(cell_of(journal), cells)]
        landed = [_land(lake, run_id, journal, left_over=True) for journal in own]
        _remove_segments(lake, run_id, collected)
        return sum(pq.read_metadata(path).num_rows for path in landed if path is not None)


def _is_of(name: str, cells: Collection[str] | None) -> bool:
    """Whether a journal, of a cell or of its judge, belongs to one of `cells`."""
    return cells is None or name.removeprefix(JUDGED) in cells


def cell_of(journal: Path) -> str:
    """The cell whose replies a journal has, or `judge-` and the cell."""
    return journal.stem.partition(SEGMENT)[0]


def _collect_segments(lake: Lake, run_id: str, cells: Collection[str] | None) -> list[str]:
    """Downloads journal segments of all machines next to this machine's journals; returns the cells."""
    if lake.shared is None:
        return []
    folder = lake.journal_folder(run_id)
    own = {
        cell_id: names for cell_id, names in find_segments(lake.shared, folder).items() if _is_of(cell_id, cells)
    }
    for cell_id, names in own.items():
        for start in range(0, len(names), SEGMENTS):
            journal = folder / f"{check_name(cell_id)}{SEGMENT}{ULID()}.jsonl"
            write_journal(lake.shared, names[start : start + SEGMENTS], journal)
    return list(own)


def _remove_segments(lake: Lake, run_id: str, cells: Iterable[str]) -> None:
    for cell_id in cells:
        if lake.shared:
            lake.shared.bucket.remove_all(f"{lake.shared.name(lake.journal_folder(run_id))}/{cell_id}")


LARGE_BYTES = 4_000_000
_LARGE = threading.Lock()
"""Large journals land one at a time: each takes several times its size in memory."""


def _land(lake: Lake, run_id: str, journal: Path, *, left_over: bool = False) -> Path | None:
    if not journal.exists():
        return None
    cell_id = cell_of(journal)
    # a kill between writing Parquet and removing the journal leaves a journal whose rows are already stored
    landed = lake.scan("responses", run_id, f"{cell_id}-*")
    ids = landed.select("response_id").collect()
    with _LARGE if journal.stat().st_size > LARGE_BYTES else nullcontext():
        lines = read_lines(journal)
        _keep_damaged(journal, lines.damaged)
        rows = lines.rows
        if ids.height:
            rows = rows.join(ids, on="response_id", how="anti", maintain_order="left")
        if left_over and lake.shared:
            rows = rows.join(_find_answered(landed), on=UNIT, how="anti", maintain_order="left", nulls_equal=True)
        path = lake.write("responses", run_id, f"{cell_id}-{ULID()}", rows) if rows.height else None
    with storing(journal):
        journal.unlink()
    return path


DAMAGED = ".damaged"
"""Suffix of files with the lines of a journal that are not as they were written."""


def _keep_damaged(journal: Path, lines: Sequence[bytes]) -> None:
    """Keeps lines that cannot be read, since someone may be able to; their replies are requested again."""
    if lines:
        kept = journal.with_name(f"{cell_of(journal)}{DAMAGED}")
        with storing(kept), kept.open("ab") as file:
            file.writelines(line + b"\n" for line in lines)


def find_damaged_lines(lake: Lake, run_id: str = "*") -> list[Problem]:
    """The journals with damaged lines, of all runs by default."""
    found = []
    for path in sorted((lake.root / "journal").glob(f"run_id={run_id}/*{DAMAGED}")):
        owner = path.parent.name.removeprefix("run_id=")
        count = path.read_bytes().count(b"\n")
        lines = "1 line is" if count == 1 else f"{count} lines are"
        what = f"the journal of cell `{path.stem}` of run `{owner}` was damaged: {lines} not as written"
        remedy = f"`biasgrid resume {owner}` requests the replies again; then delete this file"
        found.append(Problem(what, str(path), remedy))
    return found


def _find_answered(landed: pl.LazyFrame) -> pl.DataFrame:
    """Units that have a reply: another machine may have requested them again."""
    return landed.filter(pl.col("error_class").is_null()).select(UNIT).unique().collect()


def _open(path: Path) -> tuple[int, bool]:
    """A file descriptor for appending, and whether the file ends with an incomplete line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    size = os.fstat(file).st_size
    return file, size > 0 and os.pread(file, 1, size - 1) != b"\n"
