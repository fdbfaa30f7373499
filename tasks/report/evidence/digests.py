"""Hashes of files, read piece by piece."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

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
    """Of a file from where it stands to its end, or a piece past `most` bytes: what is longer is not what it
    should be, however long it is."""
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
