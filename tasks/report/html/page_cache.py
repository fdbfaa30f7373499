"""Record of the pages that biasgrid wrote into a folder: current ones are kept, other files never touched."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import orjson
from ulid import ULID

from biasgrid.warehouse.storage.atomic_file import remove_partial_files, replace_atomically
from biasgrid.warehouse.storage.export_files import report_write_errors


@dataclass(frozen=True, slots=True)
class Folder:
    root: Path

    def write(self, name: str, text: str) -> Path:
        """Writes one file in one step, if it holds another text. Raises UserError where it cannot be written."""
        path = self.root / name
        with report_write_errors(self.root):
            if path.is_file() and path.read_bytes() == text.encode():
                return path
            with replace_atomically(path) as partial:
                partial.write_text(text, encoding="utf-8", newline="")
        return path


NAME = ".biasgrid-pages.json"
Write = Callable[[Path], Sequence[Path]]
"""Writes pages into a folder, that to be opened first."""


@dataclass(frozen=True, slots=True)
class Record:
    """Our `files` of a folder, and the `digest` of their inputs; empty while they are being written."""

    digest: str
    files: tuple[str, ...]

    @classmethod
    def of(cls, root: Path) -> Record | None:
        """None if there is none, or it cannot be read; names outside the folder are left out."""
        try:
            record = orjson.loads((root / NAME).read_bytes())
            return cls(str(record["digest"]), tuple(name for name in record["files"] if _is_below(root, name)))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, root: Path) -> None:
        with replace_atomically(root / NAME) as partial:
            partial.write_bytes(orjson.dumps({"digest": self.digest, "files": self.files}))


def holds(root: Path, digest: str) -> bool:
    """Whether the pages of a folder were made of just this, and are all there."""
    record = Record.of(root)
    if record is None or record.digest != digest or not digest:
        return False
    return all((root / name).is_file() for name in record.files)


def renew(root: Path, write: Write, digest: str = "") -> list[Path]:
    """Writes pages aside, then replaces ours in the folder. Without a digest they are never current."""
    with _aside(root) as stage:
        names = [path.relative_to(stage).as_posix() for path in write(stage)]
        with report_write_errors(root):
            _put(root, stage, names, digest)
    return [root / name for name in names]


def take_away(root: Path) -> bool:
    """Removes our pages from a folder, and it if it is empty then; False if it has no record of any."""
    record = Record.of(root)
    if record is None:
        return False
    with report_write_errors(root):
        _drop(root, [*record.files, NAME])
        _drop_if_empty(root)
    return True


def _put(root: Path, stage: Path, names: Sequence[str], digest: str) -> None:
    earlier = Record.of(root)
    ours = dict.fromkeys([*(earlier.files if earlier else ()), *names])
    Record("", tuple(ours)).write(root)
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (stage / name).replace(root / name)
    _drop(root, ours.keys() - set(names))
    Record(digest, tuple(names)).write(root)


def _drop(root: Path, names: Iterable[str]) -> None:
    for name in names:
        if not (root / name).is_dir():
            (root / name).unlink(missing_ok=True)
        for folder in PurePosixPath(name).parents:
            if folder.name:
                _drop_if_empty(root / folder)


def _drop_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def _aside(root: Path) -> Iterator[Path]:
    """A folder within that of the pages, which goes again; what a killed process left of its own goes first."""
    was_there = root.is_dir()
    stage = root / f".{ULID()}.partial"
    with report_write_errors(root):
        remove_partial_files(root)
        stage.mkdir(parents=True)
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        if not was_there:
            _drop_if_empty(root)


def _is_below(root: Path, name: object) -> bool:
    if not isinstance(name, str) or not name or "\0" in name:
        return False
    path = PurePosixPath(name)
    leads_away = path.is_absolute() or ".." in path.parts
    return not leads_away and (root / path).parent.resolve().is_relative_to(root.resolve())
