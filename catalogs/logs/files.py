"""Reads log files: JSON lines one at a time, JSON documents, and members of ZIP archives."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
import pyarrow as pa

from biasgrid.catalogs.errors import Problem, UserError, place

Tree = dict[str, Any]
"""A JSON object."""
Record = tuple[str, Tree | Problem]
"""Where one sample of a log stands, and its object, or why it cannot be read."""

ZSTD: Final = 93
"""Compression of a ZIP member that Python's zipfile does not read."""
LOCAL_HEADER: Final = struct.Struct("<26xHH")
"""Of a ZIP member: the lengths of its name and extra field, at bytes 26 to 30."""


def read_first(path: Path) -> Tree | None:
    """The first line of a file as an object, else the whole file; None if neither is one."""
    with _open(path) as file:
        line = file.readline()
        while line and not line.strip():
            line = file.readline()
        first = _parse(line)
        if not isinstance(first, dict):
            first = _parse(line + file.read())
    return first if isinstance(first, dict) else None


def read_lines(path: Path) -> Iterator[Record]:
    """Each object of a file of JSON lines; a line that is none is a problem."""
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            value = _parse(line)
            where = f"{path}:{number}"
            if isinstance(value, dict):
                yield where, value
            elif line.strip():
                yield where, Problem("is no JSON object", where, "correct or remove the line")


def join_by_id(files: Sequence[Path], key: str, join: Callable[[Tree, Tree], Tree]) -> Iterator[Record]:
    """`join` of each line with `key`, and of what lines without it state about the same `custom_id`."""
    about: dict[Any, Tree] = {}
    outputs: list[Path] = []
    for path in files:
        for _, tree in read_lines(path):
            if isinstance(tree, dict) and key not in tree:
                about.setdefault(tree.get("custom_id"), {}).update(tree)
            elif path not in outputs:
                outputs.append(path)
    for path in outputs:
        for where, tree in read_lines(path):
            if not isinstance(tree, dict):
                yield where, tree
            elif key in tree:
                yield where, join(tree, about.get(tree.get("custom_id"), {}))


def read_document(path: Path) -> Any:
    """The JSON value of a file. Raises UserError."""
    with _open(path) as file:
        return parse(file.read(), str(path))


def parse(text: bytes, where: str) -> Any:
    """The JSON value of a text. Raises UserError."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UserError(
            Problem(f"is not valid JSON: {error}", where, "name the log as the tool wrote it")
        ) from error


def number_entries(path: Path, entries: Any, key: str) -> Iterator[Record]:
    """The objects of a list in a JSON document. Raises UserError if it is no list."""
    if not isinstance(entries, list):
        raise UserError(Problem(f"has no list `{key}`", str(path), "name the log as the tool wrote it"))
    for number, entry in enumerate(entries, 1):
        where = f"{path} ({key} {number})"
        yield where, entry if isinstance(entry, dict) else Problem("is no JSON object", where)


def read_members(path: Path, folder: str) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the members of a ZIP archive below `folder`, or of that name. Raises UserError."""
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            for member in archive.infolist():
                if member.filename.startswith(folder):
                    yield member.filename, _read_member(archive, member, file)
    except (zipfile.BadZipFile, struct.error, pa.ArrowException, OSError) as error:
        raise UserError(
            Problem(f"cannot be read: {error}", str(path), "name a log that was written whole")
        ) from error


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, file: Any) -> bytes:
    if member.compress_type != ZSTD:
        return archive.read(member)
    file.seek(member.header_offset)
    lengths = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    file.seek(sum(lengths), 1)
    packed = pa.BufferReader(file.read(member.compress_size))
    return bytes(pa.CompressedInputStream(packed, "zstd").read())


def _open(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise UserError(Problem(f"cannot be read: {error.strerror}", place(path), "name a log file")) from error


def _parse(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
