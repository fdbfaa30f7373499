"""Objects on S3-compatible storage, through pyarrow. Library messages are never repeated, since they may contain
credentials."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.warehouse.storage.errors import StorageTrouble
from biasgrid.warehouse.storage.objects.address import (
    ENDPOINTS,
    PAIR,
    REGIONS,
    WHERE,
    Address,
    endpoint,
    filesystem,
    has_keys,
)

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem

AT_FIRST, PATIENT = 2, 7
"""Attempts: half a second to report a missing server before the first success, half a minute afterwards."""

CHUNK_BYTES = 64 * 1024 * 1024
"""Bytes per request of a download."""

_CODE = re.compile(r"AWS Error (\w+)(?: \(HTTP status (\d+)\))?")
_STATUS = {
    "401": "ACCESS_DENIED",
    "403": "ACCESS_DENIED",
    "404": "RESOURCE_NOT_FOUND",
    "503": "SLOW_DOWN",
}
_KEYS = f"see to {PAIR[0]}, {PAIR[1]} and, for temporary ones, AWS_SESSION_TOKEN"
_ALLOWED = "its keys must be allowed to list, read, write and delete there"
_SERVER = f"see to {ENDPOINTS[1]}, and whether that server is up"
_REASONS: dict[str, tuple[str, str]] = {
    "NO_SUCH_BUCKET": ("there is no such bucket", "create it, or correct its name"),
    "NETWORK_CONNECTION": ("the server does not answer", _SERVER),
    "REQUEST_TIMEOUT": ("the server takes too long to answer", _SERVER),
    "INTERNAL_FAILURE": ("the server failed", _SERVER),
    "SERVICE_UNAVAILABLE": ("the server has too much to do", _SERVER),
    "SLOW_DOWN": ("the server has too much to do", _SERVER),
    "ACCESS_DENIED": ("access is denied", f"{_KEYS}; {_ALLOWED}"),
    "INVALID_ACCESS_KEY_ID": ("the server does not know this access key", _KEYS),
    "INVALID_CLIENT_TOKEN_ID": ("the server does not know this access key", _KEYS),
    "SIGNATURE_DOES_NOT_MATCH": ("the secret key is not that of the access key", _KEYS),
    "EXPIRED_TOKEN": ("the temporary keys have expired", _KEYS),
    "RESOURCE_NOT_FOUND": ("no S3 server answers there", _SERVER),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """An object: its size in bytes, and its last write time by the server's clock."""

    size: int
    written: datetime


NOT_WRITTEN = "cannot be written"


class Bucket:
    """The objects below one address; names are relative to it."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._is_away = False

    def __reduce__(self) -> tuple[Any, ...]:
        return Bucket, (self.address,)  # the process that unpickles it uses its own keys

    @property
    def _storage(self) -> S3FileSystem:
        """The storage with all retries, or with few after they failed, so that the last message is not delayed."""
        return self._at_once if self._is_away else self._patiently

    @cached_property
    def _at_once(self) -> S3FileSystem:
        return filesystem(self.address.bucket, AT_FIRST)

    @cached_property
    def _patiently(self) -> S3FileSystem:
        return filesystem(self.address.bucket, PATIENT)

    def names(self) -> set[str]:
        """The names directly below the address, within seconds. Raises `UserError` if it cannot be listed."""
        from pyarrow import fs

        everything = fs.FileSelector(self.address.path(""))
        try:
            return {info.base_name for info in self._at_once.get_file_info(everything)}
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise UserError(self._mistake("cannot be listed", error)) from None

    def refuse_unwritable(self) -> None:
        """Raises `UserError` if objects cannot be written or removed there."""
        path = self.address.path("locks/probe")
        try:
            with self._at_once.open_output_stream(path, compression=None) as probe:
                probe.write(b"whether this can be written\n")
            self._at_once.delete_file(path)
        except FileNotFoundError:  # another process's probe at the same moment, which that process removed
            return
        except OSError as error:
            raise UserError(self._mistake("cannot be written", error)) from None

    def list_objects(self, folder: str) -> dict[str, Entry]:
        """All objects below `folder`, by name. Raises `StorageTrouble`."""
        from pyarrow import fs

        with self._asked(folder, "cannot be listed"):
            try:
                found = self._storage.get_file_info(fs.FileSelector(self.address.path(folder), recursive=True))
            except FileNotFoundError:
                return {}
        start = len(self.address.path("")) + 1
        return {info.path[start:]: _entry(info) for info in found if info.is_file}

    def find_object(self, name: str) -> Entry | None:
        """The object of that name, if any. Raises `StorageTrouble`."""
        with self._asked(name, "cannot be read"):
            info = self._storage.get_file_info(self.address.path(name))
        return _entry(info) if info.is_file else None

    def put(self, file: Path, name: str) -> Entry:
        """Uploads a file atomically. Raises `StorageTrouble`."""
        import pyarrow as pa

        # memory-mapped, in one call: a stream interrupted halfway would be closed and become visible. copy_files
        # frees a failed upload while a thread still uses it, which crashes the process
        with pa.memory_map(str(file)) as here, self._asked(name, NOT_WRITTEN), self._open_output(name) as upload:
            upload.write(here.read_buffer())
        return self._verify_upload(name, file.stat().st_size)

    def put_bytes(self, content: bytes, name: str) -> Entry:
        """Like `put`, for bytes that may be truncated."""
        self.send(content, name)
        return self._verify_upload(name, len(content))

    def send(self, content: bytes, name: str) -> None:
        """Like `put_bytes`, without checking the result: one request, if small."""
        with self._asked(name, NOT_WRITTEN), self._open_output(name) as upload:
            upload.write(content)

    def _verify_upload(self, name: str, size: int) -> Entry:
        landed = self.find_object(name)
        if landed is None or landed.size != size:
            raise self._trouble(name, "cannot be written: what arrived is not what was sent")
        return landed

    def get(self, name: str, file: Path) -> None:
        """Downloads an object to a file. Raises `StorageTrouble`; FileNotFoundError if it was removed."""
        with self._asked(name, "cannot be read"), self._open_input(name) as sent, file.open("wb") as received:
            while chunk := sent.read(CHUNK_BYTES):
                received.write(chunk)

    def read(self, name: str) -> bytes:
        """The bytes of a small object; empty if it was removed. Raises `StorageTrouble`."""
        try:
            with self._asked(name, "cannot be read"), self._open_input(name) as sent:
                return bytes(sent.read())
        except FileNotFoundError:
            return b""

    def remove(self, name: str) -> None:
        """Removes an object, if it exists. Raises `StorageTrouble`."""
        with self._asked(name, "cannot be removed"):
            try:
                self._storage.delete_file(self.address.path(name))
            except FileNotFoundError:
                return

    def remove_all(self, folder: str) -> None:
        """Removes a folder with all objects, a thousand per request. Raises `StorageTrouble`."""
        with self._asked(folder, "cannot be removed"):
            try:
                self._storage.delete_dir(self.address.path(folder))
            except FileNotFoundError:
                return

    def _open_output(self, name: str) -> Any:
        return self._storage.open_output_stream(self.address.path(name), compression=None)

    def _open_input(self, name: str) -> Any:
        return self._storage.open_input_file(self.address.path(name))

    @contextmanager
    def _asked(self, name: str, lack: str) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, StorageTrouble):
            raise
        except OSError as error:
            if error.errno is not None:
                raise  # an error of this machine's own disk
            self._is_away = True
            raise self._trouble(name, f"{lack}: {_reason(error)[0]}") from None
        self._is_away = False

    def _trouble(self, name: str, why: str) -> StorageTrouble:
        return StorageTrouble(self.address.url(name), errno.EIO, why=why)

    def _mistake(self, lack: str, error: OSError) -> Problem:
        why, remedy = _reason(error)
        at = f" at `{endpoint()}`" if endpoint() else ""
        return Problem(f"`{self.address}`{at} {lack}: {why}", WHERE, remedy)


def _entry(info: Any) -> Entry:
    return Entry(info.size, info.mtime.astimezone(UTC))


def _reason(error: OSError) -> tuple[str, str]:
    """Why storage refused a request, and the remedy."""
    found = _CODE.search(str(error))
    code = found[1] if found else ""
    if found and code not in _REASONS:
        code = _STATUS.get(found[2] or "", code)
    if code == "ACCESS_DENIED" and not has_keys():
        return "access is denied, and there are no keys", f"set {PAIR[0]} and {PAIR[1]}"
    region = f"see to {REGIONS[0]} and {ENDPOINTS[1]}"
    return _REASONS.get(code, (f"the server refuses ({code or 'without a reason'})", region))
