"""Where the files of a bundle lie: in its zip, or in a folder that it was unpacked to."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol


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
        walked = [*os.walk(self.root, onerror=_refused)]
        found = (Path(folder) / name for folder, _, names in walked for name in names)
        links = (Path(folder) / name for folder, names, _ in walked for name in names)
        every = [*found, *(path for path in links if path.is_symlink())]
        return sorted(path.relative_to(self.root).as_posix() for path in every)

    def open(self, name: str) -> IO[bytes]:
        path = self.root / name
        if path.is_symlink() or not path.is_file():
            raise OSError("it is no file of its own")
        return path.open("rb")


def _refused(error: OSError) -> None:
    raise error
