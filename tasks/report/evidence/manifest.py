"""Canonical manifest of a bundle, whose hash identifies the whole bundle."""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Annotated, Final, Literal

import orjson
from pydantic import AfterValidator, Field, ValidationError

from biasgrid.catalogs.schema.base import Frozen

VERSION: Final = 45
"""Of the format: the first with 64-bit sizes."""
UTF_8: Final = 0x0800
STORED: Final = 0
FULL: Final = 0xFFFFFFFF
"""Marks that a size or place is in the 64-bit field."""
LOCAL, CENTRAL, END_64, LOCATOR, END = (b"PK\x03\x04", b"PK\x01\x02", b"PK\x06\x06", b"PK\x06\x07", b"PK\x05\x06")
EARLIEST, LATEST = datetime(1980, 1, 1, tzinfo=UTC), datetime(2107, 12, 31, 23, 59, 58, tzinfo=UTC)
"""Times that a zip can represent."""


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
    """For messages."""


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
    values = (VERSION, UTF_8, STORED, time, day, file.crc, FULL, FULL, len(file.path.encode()), extra)
    return struct.pack("<HHHHHIIIHH", *values)


def _local(file: Stored, moment: tuple[int, int]) -> bytes:
    extra = struct.pack("<HHQQ", 1, 16, file.size, file.size)
    return LOCAL + _common(file, moment, len(extra)) + file.path.encode() + extra


def _central(file: Stored, moment: tuple[int, int], place: int) -> bytes:
    extra = struct.pack("<HHQQQ", 1, 24, file.size, file.size, place)
    rest = struct.pack("<HHHII", 0, 0, 0, 0, FULL)
    common = _common(file, moment, len(extra))
    return CENTRAL + struct.pack("<H", VERSION) + common + rest + file.path.encode() + extra


def _end(count: int, size: int, place: int) -> bytes:
    values = struct.pack("<QHHIIQQQQ", 44, VERSION, VERSION, 0, 0, count, count, size, place)
    locator = struct.pack("<IQI", 0, place + size, 1)
    return END_64 + values + LOCATOR + locator + END + struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, FULL, FULL, 0)


def _dos_time(dated: datetime) -> tuple[int, int]:
    """Day and time as a zip has them: in UTC, to two seconds."""
    values = min(max(dated.astimezone(UTC), EARLIEST), LATEST)
    day = (values.year - 1980) << 9 | values.month << 5 | values.day
    return day, values.hour << 11 | values.minute << 5 | values.second // 2


PIECE = 1 << 20
"""Bytes read at once."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a file's bytes come to."""

    size: int
    sha256: str
    crc: int


def pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        yield piece


def content(file: IO[bytes], most: int | None = None) -> Content:
    """Hash and size of the rest of a file, read at most to a piece past `most` bytes."""
    digest, crc, size = hashlib.sha256(), 0, 0
    for piece in pieces(file):
        digest.update(piece)
        crc, size = zlib.crc32(piece, crc), size + len(piece)
        if most is not None and size > most:
            break
    return Content(size, digest.hexdigest(), crc)


def content_of(path: Path, most: int | None = None) -> Content:
    with path.open("rb") as file:
        return content(file, most)


MANIFEST: Final = "manifest.json"
SUMS: Final = "SHA256SUMS"
FORMAT: Final = "biasgrid evidence"
BUNDLE_SCHEMA: Final = 3
"""Rises when a bundle comes to be laid out otherwise."""
Role = Literal["scenario", "catalog", "environment", "mart", "record", "recompute", "report", "coverage"]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


NAME: Final = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,200}(?<!\.)")
DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)", re.IGNORECASE)
"""What Windows takes for a device, whatever follows the point."""


def _safe(path: str) -> str:
    """A path that stays in the folder it is unpacked to, on any system, and steers no terminal that shows it."""
    if not all(NAME.fullmatch(part) and not DEVICE.match(part) for part in path.split("/")):
        raise ValueError("is no path within a bundle")
    return path


def _in_utc(when: datetime) -> datetime:
    """Whole seconds of UTC, so that a time has one form."""
    if when.utcoffset() != timedelta(0) or when.microsecond:
        raise ValueError("is no time in UTC to the second")
    return when


class Member(Frozen):
    """One file of a bundle, other than the manifest and the list of sums."""

    path: Annotated[str, AfterValidator(_safe)] = Field(min_length=1)
    size: int = Field(ge=0)
    """Bytes."""
    sha256: Digest
    role: Role
    source: str | None = None
    """What the run called it, where that is another name."""


class Versions(Frozen):
    """Of biasgrid, and of what it writes."""

    run: str | None
    """biasgrid's when the run began; null where it was not recorded."""
    bundle: str
    """biasgrid's when the bundle was written."""
    lake_schema: int
    bundle_schema: int


class About(Frozen):
    run_id: str
    kind: str
    state: str
    started_at: str | None
    ended_at: str | None
    seed: int | None


class Manifest(Frozen):
    format: Literal["biasgrid evidence"] = "biasgrid evidence"
    run: About
    dated: Annotated[datetime, AfterValidator(_in_utc)]
    """When the run last changed: files of the bundle bear this time, and none that of its writing."""
    complete: bool
    """Whether the run came to its end."""
    language: Annotated[str, Field(pattern="^[a-z]{2}_[a-z]{2}$")] | None = None
    """Of the record and the pages; null in bundles of the first form, which were in English."""
    versions: Versions
    files: tuple[Member, ...]
    """By path."""

    @property
    def text(self) -> bytes:
        """The one form: keys by name, two spaces, a line feed at the end."""
        form = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        left_out = {"language"} if self.language is None else set()
        return orjson.dumps(self.model_dump(mode="json", exclude=left_out), option=form)

    @property
    def digest(self) -> str:
        """SHA-256 of the manifest, and so of every file that it lists."""
        return hashlib.sha256(self.text).hexdigest()

    @property
    def sums(self) -> bytes:
        """As `sha256sum -c` reads them: the manifest, then every file."""
        lines = [(self.digest, MANIFEST), *((member.sha256, member.path) for member in self.files)]
        return "".join(f"{digest}  {path}\n" for digest, path in lines).encode()


class NoManifest(ValueError):
    """A text that is no manifest, or not in its one form."""


class Newer(ValueError):
    """A manifest of a form that this biasgrid does not know yet."""


def read_manifest(text: bytes) -> Manifest:
    """Raises NoManifest unless the text is a manifest in its one form, and Newer for a newer one."""
    _refuse_newer(text)
    try:
        manifest = Manifest.model_validate_json(text)
    except ValidationError as error:
        raise NoManifest("it is no manifest of a bundle") from error
    paths = [member.path for member in manifest.files]
    if paths != sorted(set(paths)) or {MANIFEST, SUMS} & set(paths):
        raise NoManifest("it does not list each file once, in order")
    if manifest.text != text:
        raise NoManifest("it is not written as biasgrid writes it")
    return manifest


def manifest_of(
    about: About, dated: datetime, versions: Versions, files: Iterable[Member], language: str, *, complete: bool
) -> Manifest:
    ordered = tuple(sorted(files, key=lambda member: member.path))
    return Manifest(run=about, dated=dated, complete=complete, language=language, versions=versions, files=ordered)


def _refuse_newer(text: bytes) -> None:
    with suppress(orjson.JSONDecodeError, KeyError, TypeError):
        values = orjson.loads(text)
        schema = values["versions"]["bundle_schema"]
        if values["format"] == FORMAT and schema > BUNDLE_SCHEMA:
            raise Newer(f"it has form {schema:,}, and this biasgrid knows those up to {BUNDLE_SCHEMA}")
