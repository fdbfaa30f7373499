"""The zip around a bundle, in one form: the same files give the same bytes.

Files are stored, not packed: what a packer makes of them depends on its version, and Parquet is packed already.
The layout is that of PKWARE's APPNOTE 6.3.9, sections 4.3 and 4.5.3, with no comment, no attribute and no extra
field but the 64-bit one, which every entry has, so that no size changes the form.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

VERSION: Final = 45
"""Of the format: the first with 64-bit sizes."""
UTF_8: Final = 0x0800
STORED: Final = 0
FULL: Final = 0xFFFFFFFF
"""Says that a size or place stands in the 64-bit field."""
LOCAL, CENTRAL, END_64, LOCATOR, END = (
    b"PK\x03\x04",
    b"PK\x01\x02",
    b"PK\x06\x06",
    b"PK\x06\x07",
    b"PK\x05\x06",
)
EARLIEST, LATEST = datetime(1980, 1, 1, tzinfo=UTC), datetime(2107, 12, 31, 23, 59, 58, tzinfo=UTC)
"""Between which a zip can tell the time."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A file as the zip stores it."""

    path: str
    size: int
    """Bytes."""
    crc: int


@dataclass(frozen=True, slots=True)
class Frame:
    """Bytes that are the zip's own."""

    content: bytes
    what: str
    """As people are told of them."""


def layout(files: Sequence[Stored], dated: datetime) -> Iterator[Frame | Stored]:
    """All of the zip from first to last byte; a file stands for its content."""
    moment, place, directory = _dos_time(dated), 0, []
    for file in files:
        header = _local(file, moment)
        directory.append(_central(file, moment, place))
        yield Frame(header, f"the zip's header of `{file.path}`")
        yield file
        place += len(header) + file.size
    listed = b"".join(directory)
    yield Frame(listed, "the zip's directory")
    yield Frame(_end(len(files), len(listed), place), "the end of the zip")


def _common(file: Stored, moment: tuple[int, int], extra: int) -> bytes:
    day, time = moment
    told = (VERSION, UTF_8, STORED, time, day, file.crc, FULL, FULL, len(file.path.encode()), extra)
    return struct.pack("<HHHHHIIIHH", *told)


def _local(file: Stored, moment: tuple[int, int]) -> bytes:
    extra = struct.pack("<HHQQ", 1, 16, file.size, file.size)
    return LOCAL + _common(file, moment, len(extra)) + file.path.encode() + extra


def _central(file: Stored, moment: tuple[int, int], place: int) -> bytes:
    extra = struct.pack("<HHQQQ", 1, 24, file.size, file.size, place)
    rest = struct.pack("<HHHII", 0, 0, 0, 0, FULL)
    common = _common(file, moment, len(extra))
    return CENTRAL + struct.pack("<H", VERSION) + common + rest + file.path.encode() + extra


def _end(count: int, size: int, place: int) -> bytes:
    told = struct.pack("<QHHIIQQQQ", 44, VERSION, VERSION, 0, 0, count, count, size, place)
    locator = struct.pack("<IQI", 0, place + size, 1)
    return END_64 + told + LOCATOR + locator + END + struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, FULL, FULL, 0)


def _dos_time(dated: datetime) -> tuple[int, int]:
    """Day and time as a zip has them: in UTC, to two seconds."""
    told = min(max(dated.astimezone(UTC), EARLIEST), LATEST)
    day = (told.year - 1980) << 9 | told.month << 5 | told.day
    return day, told.hour << 11 | told.minute << 5 | told.second // 2
