"""Converts responses to lines of JSON and back to rows. Lines have a checksum as their last field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
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
        return seal(orjson.dumps(row))
    except orjson.JSONEncodeError:
        return seal(orjson.dumps(_valid(row)))


BEGINNING = b'{"'
"""Of each line, cut off or not."""


class Lines(NamedTuple):
    """What is in a journal."""

    rows: pl.DataFrame
    """In the columns of `responses`, without duplicates."""
    damaged: list[bytes]
    """Lines that are not as they were written."""


def read_lines(journal: Path) -> Lines:
    """The lines of a journal. Those cut off by a kill or a full disk are skipped. Other threads run meanwhile."""
    sound, damaged = _check_lines(journal.read_bytes())
    frame = pl.from_arrow(_parse(sound))
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table becomes a frame, never a series
    keys = frame.select(KEYS["responses"])
    if keys.null_count().sum_horizontal().item() or keys["response_id"].is_duplicated().any():  # else no copy
        frame = frame.drop_nulls(keys.columns).unique("response_id", keep="first", maintain_order=True)
    return Lines(frame, damaged)


def _check_lines(text: bytes) -> tuple[list[bytes], list[bytes]]:
    """Lines as they were written, and damaged ones."""
    sound: list[bytes] = []
    damaged: list[bytes] = []
    *lines, rest = text.split(b"\n")
    for written in lines:
        for one in [written] if _is_sound(written) else split_sealed(written):
            if _is_sound(one):
                sound.append(one)
            elif not _is_cut_off(one):
                damaged.append(one)
    sound += filter(_is_sound, split_sealed(rest))
    damaged += [rest] * (rest != b"" and not rest.startswith(BEGINNING))
    return sound, damaged


def _is_sound(text: bytes) -> bool:
    """Whether a line has its checksum, or is a response of a release without them."""
    unsealed = unseal(text)
    return unsealed is not None and (len(unsealed) < len(text) or _is_response(text))


def _is_response(text: bytes) -> bool:
    row = _parse_line(text)
    return row is not None and all(row.get(column) is not None for column in KEYS["responses"])


def _is_cut_off(text: bytes) -> bool:
    """Whether the end of a line was never written."""
    begun = text.startswith(BEGINNING) and b'"checksum"' not in text[-28:] and not text.endswith(b'"}')
    return begun and _parse_line(text) is None


def _parse(lines: list[bytes]) -> pa.Table:
    text = b"\n".join(lines)
    for block in (BLOCK_BYTES, len(text)):
        try:
            return _parse_blocks(text, min(block, len(text)))
        except pa.ArrowInvalid:
            continue
    rows = [row for row in map(_parse_line, lines) if row is not None]
    return pa.Table.from_pylist(rows, schema=RESPONSES)


def _parse_blocks(text: bytes, block: int) -> pa.Table:
    """Raises ArrowInvalid if a line is longer than a block."""
    options = pj.ParseOptions(
        explicit_schema=RESPONSES, newlines_in_values=False, unexpected_field_behavior="ignore"
    )
    rows = pj.read_json(
        pa.BufferReader(text), read_options=pj.ReadOptions(block_size=block), parse_options=options
    )
    rows.validate(full=True)  # the parser accepts invalid UTF-8
    return rows


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
    if line[end.end() :].strip():
        return None
    text = line[: end.start()] + b"}"
    return text if crc32(text) == int(end[1], 16) else None


def split_sealed(line: bytes) -> list[bytes]:
    """The lines in a line whose ends were damaged."""
    ends = [0, *(end.end() for end in _END.finditer(line)), len(line)]
    pieces = (line[start:stop] for start, stop in pairwise(ends))
    return [piece[max(0, piece.find(b"{")) :] for piece in pieces if piece]
