"""Responses land the moment they arrive: a line in their cell's journal, later Parquet.

A kill of the process loses at most what was in flight: every line is handed to the operating system whole,
by one call, before the next request is sent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import filelock
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from ulid import ULID

from catalogs.mistakes import Mistake, UserMistake
from warehouse.atomic import sweep
from warehouse.conform import SchemaMismatch, conform
from warehouse.lake import Lake, checked_name
from warehouse.schemas import KEYS, RESPONSES, TABLES

SEGMENT_ROWS = 20_000
"""A long cell lands in segments of so many rows, so that memory and recovery stay small."""

Row = Mapping[str, object]


class RunBusy(UserMistake):
    """Another process writes this run."""

    @classmethod
    def named(cls, run_id: str) -> RunBusy:
        what = f"run `{run_id}` is being written by another process"
        return cls(Mistake(what, remedy="wait until it ends, or stop it, then try again"))


class RunLock:
    """One writer per run. Goes with its process, so that a kill leaves no run locked."""

    def __init__(self, lake: Lake, run_id: str) -> None:
        self.run_id = run_id
        lake.locks.mkdir(parents=True, exist_ok=True)
        # one lock per path in a process, so that whoever writes a run can also recover it
        self._lock = filelock.FileLock(
            lake.locks / f"run-{checked_name(run_id)}.lock", timeout=0, thread_local=False, is_singleton=True
        )

    def __enter__(self) -> RunLock:
        """Raises `RunBusy` where another process holds it."""
        try:
            self._lock.acquire()
        except filelock.Timeout as error:
            raise RunBusy.named(self.run_id) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


class Journal:
    """The responses of one cell, appended line by line. For one writer: hold the run's `RunLock`."""

    def __init__(self, lake: Lake, run_id: str, cell_id: str, segment_rows: int = SEGMENT_ROWS) -> None:
        self.path = lake.journal_folder(run_id) / f"{checked_name(cell_id)}.jsonl"
        self._lake = lake
        self._run_id = run_id
        self._segment_rows = segment_rows
        self._file: int | None = None
        self._rows = 0
        self._torn = False

    def append(self, row: Row) -> None:
        """Hands one response to the operating system before it returns. Lands a segment when one is full.

        Raises `SchemaMismatch` for a column or value that `responses` cannot hold, OSError for a full disk.
        """
        _refuse_misfits(row)
        self._write(_line(row))
        self._rows += 1
        if self._rows >= self._segment_rows:
            self.land()

    def land(self) -> Path | None:
        """Turns what was appended into Parquet and removes the journal; None where there was nothing."""
        self.close()
        self._rows = 0
        return _land(self._lake, self._run_id, self.path)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, line: bytes) -> None:
        if self._file is None:
            self._file, self._torn = _open(self.path)
        rest = memoryview(b"\n" + line if self._torn else line)
        self._torn = True
        while rest:
            rest = rest[os.write(self._file, rest) :]
        self._torn = False


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


def _recover_run(lake: Lake, run_id: str) -> int:
    with RunLock(lake, run_id):
        for table in TABLES:
            sweep(lake.folder(table, run_id))
        journals = sorted(lake.journal_folder(run_id).glob("*.jsonl"))
        landed = [_land(lake, run_id, journal) for journal in journals]
        return sum(pq.read_metadata(path).num_rows for path in landed if path is not None)


def _land(lake: Lake, run_id: str, journal: Path) -> Path | None:
    if not journal.exists():
        return None
    cell_id = journal.stem
    rows = _without_doubles(lake, run_id, cell_id, _read(journal))
    path = lake.write("responses", run_id, f"{cell_id}-{ULID()}", rows) if len(rows) else None
    journal.unlink()
    return path


def _without_doubles(lake: Lake, run_id: str, cell_id: str, rows: pa.Table) -> pa.Table:
    """A kill between landing and unlinking leaves a journal whose rows have landed already."""
    segments = lake.scan("responses", run_id, f"{cell_id}-*").select("response_id")
    landed = set(segments.collect().to_series())
    fresh = []
    for position, response_id in enumerate(rows["response_id"].to_pylist()):
        if response_id not in landed:
            landed.add(response_id)
            fresh.append(position)
    return rows if len(fresh) == len(rows) else rows.take(pa.array(fresh, pa.int64()))


def _read(journal: Path) -> pa.Table:
    """The whole lines of a journal; a line torn by a kill or a full disk is left out."""
    with journal.open("rb") as lines:
        rows = [row for row in map(_parsed, lines) if row is not None]
    return conform("responses", pa.Table.from_pylist(rows, schema=RESPONSES))


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        row: dict[str, Any] = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if row.get("received_at") is not None:
        row["received_at"] = datetime.fromisoformat(row["received_at"])
    return row


def _open(path: Path) -> tuple[int, bool]:
    """A descriptor to append to, and whether the file ends within a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    size = os.fstat(file).st_size
    return file, size > 0 and os.pread(file, 1, size - 1) != b"\n"


def _line(row: Row) -> bytes:
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        return orjson.dumps(_valid(row), option=orjson.OPT_APPEND_NEWLINE)


def _valid(value: object) -> object:
    """Surrogate pairs joined, lone ones replaced by U+FFFD: Parquet takes valid Unicode only."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {key: _valid(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_valid(inner) for inner in value]
    return value


def _python_types(kind: pa.DataType) -> tuple[type, ...]:
    if pa.types.is_integer(kind):
        return (int,)
    if pa.types.is_floating(kind):
        return (int, float)
    if pa.types.is_timestamp(kind):
        return (datetime,)
    return (list, tuple) if pa.types.is_list(kind) else (str,)


_TYPES = {field.name: _python_types(field.type) for field in RESPONSES}


def _refuse_misfits(row: Row) -> None:
    """Found when a row is appended, not when its journal must land."""
    for column, value in row.items():
        if column not in _TYPES:
            raise SchemaMismatch(f"`responses` has no column `{column}`")
        if value is not None and not isinstance(value, _TYPES[column]):
            raise SchemaMismatch(f"`responses.{column}` cannot hold a {type(value).__name__}: {value!r:.80}")
        if isinstance(value, int) and value.bit_length() > 63:
            raise SchemaMismatch(f"`responses.{column}` cannot hold a number of {value.bit_length()} bits")
    for column in KEYS["responses"]:
        if row.get(column) is None:
            raise SchemaMismatch(f"`responses.{column}` is missing")
