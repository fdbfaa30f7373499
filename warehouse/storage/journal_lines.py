"""Converts responses to lines of JSON and back to rows. Lines have a checksum as their last field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.json as pj

from biasgrid.warehouse.schema_check import SchemaMismatch
from biasgrid.warehouse.schemas import KEYS, RESPONSES

Row = Mapping[str, object]
BLOCK_BYTES = 4 * 1024 * 1024
"""Lines are parsed in parallel in blocks of this size; with a longer line the whole file is one block."""


def line(row: Row) -> bytes:
    """One response as a journal line. Raises `SchemaMismatch` for values that `responses` cannot hold."""
    for column, value in row.items():
        kind = type(value)
        if kind not in _KINDS.get(column, ()) or (kind is int and not -LARGEST <= value <= LARGEST):  # type: ignore[operator]
            _refuse_misfit(column, value)
    for column in KEYS["responses"]:
        if row.get(column) is None:
            raise SchemaMismatch(f"`responses.{column}` is missing")
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        return orjson.dumps(_valid(row), option=orjson.OPT_APPEND_NEWLINE)


def read_lines(journal: Path) -> pl.DataFrame:
    """The complete lines of a journal in the columns of `responses`, without duplicates. Lines cut off by a kill
    or a full disk are skipped. Other threads can run meanwhile."""
    rows = _parse(journal)
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table becomes a frame, never a series
    return frame.drop_nulls(KEYS["responses"]).unique("response_id", keep="first", maintain_order=True)


def _parse(journal: Path) -> pa.Table:
    size = journal.stat().st_size
    for block in (BLOCK_BYTES, size):
        try:
            return _parse_blocks(journal, min(block, size))
        except pa.ArrowInvalid:
            continue
    return _parse_lines(journal)


def _parse_blocks(journal: Path, block: int) -> pa.Table:
    """Raises ArrowInvalid if a line is incomplete or longer than a block."""
    options = pj.ParseOptions(
        explicit_schema=RESPONSES, newlines_in_values=False, unexpected_field_behavior="ignore"
    )
    rows = pj.read_json(journal, read_options=pj.ReadOptions(block_size=block), parse_options=options)
    rows.validate(full=True)  # the parser accepts invalid UTF-8
    return rows


def _parse_lines(journal: Path) -> pa.Table:
    with journal.open("rb") as lines:
        rows = [row for row in map(_parse_line, lines) if row is not None]
    return pa.Table.from_pylist(rows, schema=RESPONSES)


def _parse_line(text: bytes) -> dict[str, Any] | None:
    try:
        row = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(row, dict):
        return None
    if row.get("received_at") is not None:
        row["received_at"] = datetime.fromisoformat(row["received_at"])
    return row


def _valid(value: object) -> object:
    """Joins surrogate pairs and replaces lone surrogates by U+FFFD, since Parquet requires valid Unicode."""
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
_KINDS = {column: frozenset({*kinds, type(None)}) for column, kinds in _TYPES.items()}
LARGEST = 2**63 - 1


def _refuse_misfit(column: str, value: object) -> None:
    """Raises when the row is appended, not later when the journal is converted."""
    if column not in _TYPES:
        raise SchemaMismatch(f"`responses` has no column `{column}`")
    if isinstance(value, int) and value.bit_length() > 63:
        raise SchemaMismatch(f"`responses.{column}` cannot hold a number of {value.bit_length()} bits")
    if isinstance(value, bool) or not isinstance(value, _TYPES[column]):
        raise SchemaMismatch(f"`responses.{column}` cannot hold a {type(value).__name__}: {value!r:.80}")


_END = re.compile(rb',"checksum":"([0-9a-f]{8})"\}')


def seal(text: bytes) -> bytes:
    """A JSON object, not empty, as a line with its checksum."""
    return b'%b,"checksum":"%08x"}\n' % (text[:-1], crc32(text))


def unseal(line: bytes) -> bytes | None:
    """The object of a line as it was sealed, or a line without a checksum as it is; None if it is damaged."""
    end = _END.search(line, max(0, len(line) - 28))
    if end is None:
        return line
    text = line[: end.start()] + b"}"
    return text if crc32(text) == int(end[1], 16) else None


def split_sealed(line: bytes) -> list[bytes]:
    """The lines in a line whose ends were damaged."""
    ends = [0, *(end.end() for end in _END.finditer(line)), len(line)]
    return [piece for start, stop in pairwise(ends) if (piece := line[start:stop]).strip()]
