"""Conversations that outlive their process: a file each, for its owner alone. Cookies are as good as keys."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from biasgrid.warehouse.storage.atomic_file import replacing
from biasgrid.warehouse.storage.errors import storing


class SessionFolder:
    """The conversations with one model. Files are named by hashes: neither model nor session is in their names."""

    def __init__(self, folder: Path, model: str) -> None:
        self._folder = folder
        self._model = model

    def load(self, session: str) -> bytes | None:
        try:
            return self._path(session).read_bytes()
        except FileNotFoundError:
            return None

    def save(self, session: str, state: bytes) -> None:
        """Raises StorageTrouble where it cannot be written."""
        with storing(self._folder):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(self._path(session), state)

    def _write(self, path: Path, state: bytes) -> None:
        with replacing(path) as partial:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(state)

    def forget(self, session: str) -> None:
        self._path(session).unlink(missing_ok=True)

    def _path(self, session: str) -> Path:
        name = hashlib.blake2b(f"{self._model}\n{session}".encode(), digest_size=16).hexdigest()
        return self._folder / f"{name}.json"
