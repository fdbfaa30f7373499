"""Whether a bundle is as it was written: every byte of every file, of the manifest, and of the zip around them."""

from __future__ import annotations

import hashlib
import io
import os
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Protocol, TypeVar

from biasgrid.tasks.report.evidence.manifest import (
    MANIFEST,
    SUMS,
    Content,
    Frame,
    Manifest,
    Newer,
    NoManifest,
    Stored,
    content,
    layout,
    read_manifest,
)


class Folder(Protocol):
    """Files by name: of a zip, or of a folder that one was unpacked to."""

    def names(self) -> list[str]:
        """Each as often as it is there."""

    def open(self, name: str) -> IO[bytes]: ...


@dataclass(frozen=True, slots=True)
class Zipped:
    file: zipfile.ZipFile

    def names(self) -> list[str]:
        return self.file.namelist()

    def open(self, name: str) -> IO[bytes]:
        return self.file.open(name)


@dataclass(frozen=True, slots=True)
class Unpacked:
    root: Path

    def names(self) -> list[str]:
        walked = [*os.walk(self.root, onerror=_raise)]
        found = (Path(folder) / name for folder, _, names in walked for name in names)
        links = (Path(folder) / name for folder, names, _ in walked for name in names)
        every = [*found, *(path for path in links if path.is_symlink())]
        return sorted(path.relative_to(self.root).as_posix() for path in every)

    def open(self, name: str) -> IO[bytes]:
        path = self.root / name
        if path.is_symlink() or not path.is_file():
            raise OSError("it is no file of its own")
        return path.open("rb")


def _raise(error: OSError) -> None:
    raise error


Read = TypeVar("Read")
LONGEST_MANIFEST = 1 << 26
"""Bytes: more files than any run has."""
UNREADABLE = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, OSError, struct.error),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError, MemoryError),
)
"""What reading a broken zip raises, by what is broken: no member of it can be trusted to be read."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something that is not as it was."""

    what: str
    """changed, missing, added, renamed, or how the zip differs."""
    path: str

    def __str__(self) -> str:
        return f"{self.what}: {self.path}"


@dataclass(frozen=True, slots=True)
class Verified:
    """Result of checking a bundle."""

    flaws: tuple[Flaw, ...]
    manifest: Manifest | None
    """None if it cannot be read."""
    digest: str | None
    """SHA-256 of the stored manifest."""

    @property
    def is_intact(self) -> bool:
        return not self.flaws


def verify(path: Path) -> Verified:
    """Checks every byte of a bundle or its unpacked folder. Raises OSError, and Newer for a newer format."""
    if path.is_dir():
        if not any((path / name).exists() for name in (MANIFEST, SUMS)):
            raise OSError(f"no bundle was unpacked there: it holds neither {MANIFEST} nor {SUMS}")
        return _check(Unpacked(path))[0]
    with path.open("rb") as raw:
        if not raw.seekable():
            raise OSError("it is a pipe, which can be read but once")
        try:
            with closing(zipfile.ZipFile(raw)) as opened:
                found, contents = _check(Zipped(opened))
        except Newer:
            raise
        except UNREADABLE as error:
            flaw = Flaw("cannot be read as a zip", f"{path.name}, {str(error) or type(error).__name__}")
            return Verified((flaw,), None, None)
        frame = [] if found.manifest is None or found.flaws else list(_frame(raw, found.manifest, contents))
        return Verified((*found.flaws, *frame), found.manifest, found.digest)


def _check(folder: Folder) -> tuple[Verified, Mapping[str, Content]]:
    text = _read_file(folder, MANIFEST)
    digest = hashlib.sha256(text).hexdigest() if text is not None else None
    sums = _read_file(folder, SUMS)
    try:
        manifest = read_manifest(text or b"")
    except NoManifest as wrong:
        names = set(folder.names())
        flaw = Flaw(f"changed ({wrong})" if MANIFEST in names else "missing", MANIFEST)
        return Verified((flaw,), None, digest), {}
    contents = dict(_contents(folder, manifest))
    flaws = [*_of_sums(folder, manifest, sums), *_of_files(manifest, contents, folder.names())]
    return Verified(tuple(flaws), manifest, digest), contents


def _of_sums(folder: Folder, manifest: Manifest, sums: bytes | None) -> Iterator[Flaw]:
    """A manifest that was changed is still one; the list of sums then names another."""
    if sums is None:
        yield Flaw("changed" if SUMS in folder.names() else "missing", SUMS)
    elif sums != manifest.sums:
        written = sums.partition(b" ")[0].decode("ascii", "replace")
        same = written == manifest.digest
        yield Flaw("changed", SUMS) if same else Flaw("changed, one or both", f"{MANIFEST}, {SUMS}")


def _contents(folder: Folder, manifest: Manifest) -> Iterator[tuple[str, Content]]:
    """Contents of listed files; of others only if one is missing, as they may be its new name."""
    sizes = {member.path: member.size for member in manifest.files}
    sizes |= {MANIFEST: len(manifest.text), SUMS: len(manifest.sums)}
    names = dict.fromkeys(folder.names())
    longest = max((size for path, size in sizes.items() if path not in names), default=None)
    for name in names if longest is not None else [name for name in names if name in sizes]:
        found = _try_to_read(partial(_content, folder, name, sizes.get(name, longest)))
        if found is not None:
            yield name, found


def _content(folder: Folder, name: str, most: int | None) -> Content:
    with folder.open(name) as file:
        return content(file, most)


def _of_files(manifest: Manifest, contents: Mapping[str, Content], names: Iterable[str]) -> Iterator[Flaw]:
    listed = {member.path: member for member in manifest.files}
    there = Counter(names)
    missing = {path: member.sha256 for path, member in listed.items() if path not in there}
    for name in sorted(set(there) - listed.keys() - {MANIFEST, SUMS}):
        own = contents.get(name)
        before = next((path for path, digest in missing.items() if own and digest == own.sha256), None)
        missing.pop(before or "", None)
        yield Flaw("renamed", f"{before} to {name}") if before else Flaw("added", name)
    yield from (Flaw("missing", path) for path in missing)
    for path, member in listed.items():
        found = contents.get(path)
        if path in there and (found is None or (found.size, found.sha256) != (member.size, member.sha256)):
            yield Flaw("changed", path)
    yield from (Flaw("there more than once", name) for name, count in sorted(there.items()) if count > 1)


def _frame(raw: IO[bytes], manifest: Manifest, contents: Mapping[str, Content]) -> Iterator[Flaw]:
    """The first byte of the zip itself that differs from the one form."""
    order = (MANIFEST, SUMS, *(member.path for member in manifest.files))
    stored = [Stored(name, contents[name].size, contents[name].crc) for name in order]
    raw.seek(0)
    for part in layout(stored, manifest.dated):
        if isinstance(part, Stored):
            raw.seek(part.size, io.SEEK_CUR)
            continue
        flaw = _find_difference(raw, part)
        if flaw:
            yield flaw
            return
    if raw.read(1):
        yield Flaw("added", "bytes after the end of the zip")


def _find_difference(raw: IO[bytes], part: Frame) -> Flaw | None:
    begins = raw.tell()
    found = raw.read(len(part.content))
    if found == part.content:
        return None
    same = next(
        (n for n, pair in enumerate(zip(found, part.content, strict=False)) if pair[0] != pair[1]), len(found)
    )
    return Flaw("changed, at byte " + f"{begins + same:,}", part.what)


def _read_file(folder: Folder, name: str) -> bytes | None:
    def whole() -> bytes:
        with folder.open(name) as file:
            return file.read(LONGEST_MANIFEST)

    try:
        return _try_to_read(whole)
    except KeyError:
        return None


def _try_to_read(reading: Callable[[], Read]) -> Read | None:
    """None if it cannot be read."""
    try:
        return reading()
    except PermissionError:
        raise
    except UNREADABLE:
        return None
