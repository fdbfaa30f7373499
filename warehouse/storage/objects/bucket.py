"""Objects of a bucket, through obstore. Its messages are never repeated, since they may contain credentials."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ulid import ULID

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.warehouse.storage.errors import StorageTrouble
from biasgrid.warehouse.storage.objects.address import WHERE, Address

if TYPE_CHECKING:
    from obstore import ObjectMeta, UpdateVersion
    from obstore.store import ObjectStore

T = TypeVar("T")

AT_ONCE = {"max_retries": 1, "backoff": {"init_backoff": timedelta(seconds=0.5)}}
"""Retries before the first success: a missing server is reported within a second."""

PATIENT = {
    "max_retries": 7,  # with these delays, half a minute on average
    "backoff": {"init_backoff": timedelta(seconds=2), "max_backoff": timedelta(seconds=8)},
}
PART_BYTES = 8 * 1024 * 1024
PARTS = 2
"""Parts of a file that are sent in parallel: few, since each must be sent before the server's answer is late."""

NOT_WRITTEN = "cannot be written"
UNKNOWN_CONDITION = frozenset({"400", "501"})
"""Answers of servers that do not know conditional puts."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An object: its size in bytes, its last write time by the server's clock, and its version."""

    size: int
    written: datetime
    version: UpdateVersion

    @classmethod
    def of(cls, found: ObjectMeta) -> Entry:
        return cls(found["size"], found["last_modified"], version_of(found))


def version_of(found: Any) -> UpdateVersion:
    """What a conditional put needs of an object or of the answer to a put."""
    return cast("UpdateVersion", {name: found[name] for name in ("e_tag", "version") if found[name] is not None})


class Bucket:
    """The objects below one address; names are relative to it."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._is_away = False
        self._is_conditional: bool | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Bucket, (self.address,)  # the process that unpickles it uses its own keys

    @property
    def _storage(self) -> ObjectStore:
        """The storage with all retries, or with few after they failed, so that the last message is not delayed."""
        return self._at_once if self._is_away else self._patiently

    @cached_property
    def _at_once(self) -> ObjectStore:
        return self._connect(AT_ONCE)

    @cached_property
    def _patiently(self) -> ObjectStore:
        return self._connect(PATIENT)

    def _connect(self, retries: Any) -> ObjectStore:
        return self.address.cloud.connect(self.address.bucket, self.address.prefix, retries)

    def names(self) -> set[str]:
        """The names directly below the address, within seconds. Raises `UserError` if it cannot be listed."""
        with self._opened("cannot be listed"):
            found = self._at_once.list_with_delimiter()
        return {*found["common_prefixes"], *(entry["path"] for entry in found["objects"])}

    def refuse_unwritable(self) -> None:
        """Raises `UserError` if objects cannot be written, removed or read there."""
        with self._opened(NOT_WRITTEN):
            self._is_conditional = self._probe(self._at_once)
        with self._opened("cannot be read"), suppress(FileNotFoundError):
            self._at_once.head("locks/probe")

    def is_conditional(self) -> bool:
        """Whether the server obeys the conditions of `put_if`. Raises `StorageTrouble`."""
        if self._is_conditional is None:
            with self._asked("locks", NOT_WRITTEN):
                self._is_conditional = self._probe(self._storage)
        return self._is_conditional

    def _probe(self, storage: ObjectStore) -> bool:
        """Writes and removes an object, and tries conditions that are not met, which some servers ignore."""
        name = f"locks/probe-{ULID()}"
        storage.put(name, b"whether this can be written\n")
        try:
            return all(self._is_refused(name, mode) for mode in ("create", {"e_tag": '"0"', "version": "1"}))
        finally:
            with suppress(FileNotFoundError):
                storage.delete(name)

    def _is_refused(self, name: str, mode: Any) -> bool:
        from obstore.exceptions import AlreadyExistsError, GenericError, PreconditionError

        try:
            self._at_once.put(name, b"whether conditions are ignored\n", mode=mode)
        except (AlreadyExistsError, PreconditionError):
            return True
        except GenericError as error:
            if _status(error) not in UNKNOWN_CONDITION:
                raise
        return False

    def list_objects(self, folder: str) -> dict[str, Entry]:
        """All objects below `folder`, by name. Raises `StorageTrouble`."""
        with self._asked(folder, "cannot be listed"):
            found = self._storage.list(folder).collect()
        # biasgrid writes no empty objects: they stand for folders, from other programs
        return {entry["path"]: Entry.of(entry) for entry in found if entry["size"]}

    def find_object(self, name: str) -> Entry | None:
        """The object of that name, if any. Raises `StorageTrouble`."""
        try:
            with self._asked(name, "cannot be read"):
                return Entry.of(self._storage.head(name))
        except FileNotFoundError:
            return None

    def put(self, file: Path, name: str) -> Entry:
        """Uploads a file atomically. Raises `StorageTrouble`."""
        self.send(file, name)
        return self._verify_upload(name, file.stat().st_size)

    def put_bytes(self, content: bytes, name: str) -> Entry:
        """Like `put`, for bytes."""
        self.send(content, name)
        return self._verify_upload(name, len(content))

    def send(self, content: bytes | Path, name: str) -> None:
        """Like `put_bytes` or `put`, without checking the result: one request, if small."""
        with self._asked(name, NOT_WRITTEN):
            self._storage.put(name, content, chunk_size=PART_BYTES, max_concurrency=PARTS)

    def put_if(self, content: bytes, name: str, earlier: UpdateVersion | None) -> UpdateVersion | None:
        """Writes a small object if its version is `earlier`, or if it does not exist: the new version, or None if
        it was not written. `content` must be unique. Raises `StorageTrouble`."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        refused = (AlreadyExistsError, PreconditionError, FileNotFoundError)
        with self._asked(name, NOT_WRITTEN), suppress(*refused):
            return version_of(_repeat(lambda: self._storage.put(name, content, mode=earlier or "create")))
        # a request whose answer was lost may have been repeated, and refused because the first one had succeeded
        written = self.find_object(name)
        return written.version if written and self.read(name) == content else None

    def _verify_upload(self, name: str, size: int) -> Entry:
        landed = self.find_object(name)
        if landed is None or landed.size != size:
            raise self.trouble(name, "cannot be written: what arrived is not what was sent")
        return landed

    def get(self, name: str, file: Path) -> None:
        """Downloads an object to a file. Raises `StorageTrouble`; FileNotFoundError if it was removed."""
        with self._asked(name, "cannot be read"), file.open("wb") as received:
            for chunk in self._storage.get(name):
                received.write(chunk)

    def read(self, name: str) -> bytes:
        """The bytes of a small object; empty if it was removed. Raises `StorageTrouble`."""
        try:
            with self._asked(name, "cannot be read"):
                return bytes(self._storage.get(name).bytes())
        except FileNotFoundError:
            return b""

    def remove(self, name: str) -> None:
        """Removes an object, if it exists. Raises `StorageTrouble`."""
        with suppress(FileNotFoundError), self._asked(name, "cannot be removed"):
            _repeat(lambda: self._storage.delete(name))

    def remove_all(self, folder: str) -> None:
        """Removes all objects of a folder, hundreds per request where the cloud can. Raises `StorageTrouble`."""
        while names := list(self.list_objects(folder)):
            with suppress(FileNotFoundError), self._asked(folder, "cannot be removed"):
                _repeat(lambda: self._storage.delete(names))
                return

    @contextmanager
    def _opened(self, lack: str) -> Iterator[None]:
        """Raises `UserError` in place of the library's errors."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            why, remedy = self._reason(error)
            endpoint = self.address.cloud.endpoint()
            at = f" at `{endpoint}`" if endpoint else ""
            raise UserError(Problem(f"`{self.address}`{at} {lack}: {why}", WHERE, remedy)) from None

    @contextmanager
    def _asked(self, name: str, lack: str) -> Iterator[None]:
        """Raises `StorageTrouble` in place of the library's errors; FileNotFoundError for an object."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            if isinstance(error, FileNotFoundError) and not ABSENT & {*_codes(error)}:
                raise FileNotFoundError(errno.ENOENT, "no such object", self.address.url(name)) from None
            self._is_away = True
            raise self.trouble(name, f"{lack}: {self._reason(error)[0]}") from None
        self._is_away = False

    def trouble(self, name: str, why: str) -> StorageTrouble:
        return StorageTrouble(self.address.url(name), errno.EIO, why=why)

    def _reason(self, error: Exception) -> tuple[str, str]:
        """Why storage refused a request, and the remedy."""
        cloud, codes = self.address.cloud, _codes(error)
        why, remedy = next(
            (_REASONS[code] for code in codes if code in _REASONS), (f"the server refuses ({codes[0]})", ANY)
        )
        if why == DENIED and not cloud.has_keys():
            why, remedy = f"{DENIED}, and there are no keys", SET
        named = {"keys": " and ".join(cloud.keys), "endpoint": cloud.endpoints[0]}
        return why.format(cloud=cloud), remedy.format(**named)


ABSENT = frozenset({"NoSuchBucket", "ContainerNotFound"})
DENIED = "access is denied"
KEYS, SET, SERVER = "see to {keys}", "set {keys}", "see to {endpoint}, and whether that server is up"
ANY = "see to {endpoint} and {keys}"
_REASONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(ABSENT, ("there is no such {cloud.bucket}", "create it, or correct its name")),
    "InvalidAccessKeyId": ("the server does not know this access key", KEYS),
    "SignatureDoesNotMatch": ("the secret key is not that of the access key", KEYS),
    "ExpiredToken": ("the temporary keys have expired", KEYS),
    **dict.fromkeys(
        ("401", "403"), (DENIED, f"{KEYS}; its keys must be allowed to list, read, write and delete there")
    ),
    "404": ("no {cloud.service} server answers there", SERVER),
    **dict.fromkeys(("429", "503"), ("the server has too much to do", SERVER)),
    "5xx": ("the server failed", SERVER),
    "Timeout": ("the server takes too long to answer", SERVER),
    "Connect": ("the server does not answer", SERVER),
    "Metadata": (DENIED, KEYS),
    "": ("the keys or settings of the environment are invalid", ANY),
}
_CODE = re.compile(r"<Code>(\w+)</Code>")
_STATUS = re.compile(r"status code: (\d{3})")
_METADATA = re.compile(r"169\.254\.|token request")
"""A request for the role of a cloud's own machine, which is sent if there are no keys."""


def _repeat(request: Callable[[], T]) -> T:
    """Repeats a request whose answer was late. obstore does so only for reads and unconditional puts."""
    from obstore.exceptions import BaseError

    try:
        return request()
    except BaseError as error:
        if _codes(error) != ["Timeout"]:
            raise
    return request()


def _status(error: Exception) -> str:
    """The HTTP status of an answer; empty if there was none."""
    found = _STATUS.search(str(error))
    return found[1] if found else ""


def _codes(error: Exception) -> list[str]:
    """The cloud's code, the status and the kind of an error: the most specific first."""
    text = str(error)
    if _METADATA.search(text):
        return ["Metadata"]
    if status := _status(error):
        return [*_CODE.findall(text)[:1], status, f"{status[0]}xx"]
    return [
        next((kind for kind in ("Timeout", "Connect", "Request") if f"kind: {kind}" in text), "").replace(
            "Request", "Connect"
        )
    ]
