"""Parses the address of a lake on object storage: `s3://bucket/prefix`, `gs://…` or `az://container/prefix`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.warehouse.storage.objects.clouds import CLOUDS, Cloud

WHERE = "--data or BIASGRID_DATA"
PREVIOUS = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "azure": "az", "abfs": "az", "abfss": "az", "wasb": "az"}
"""Schemes of other programs for the same storage."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(/?)(.*)", re.DOTALL)
_PART = re.compile(r"[A-Za-z0-9_=-][A-Za-z0-9._=-]*")


@dataclass(frozen=True, slots=True)
class Address:
    """A bucket and the prefix of a lake in it; `prefix` has no outer slashes and may be empty."""

    bucket: str
    prefix: str = ""
    scheme: str = "s3"

    @classmethod
    def of(cls, named: Path | str) -> Address | None:
        """The address in `named`; None if it is a local path. Raises `UserError` for an invalid address. No
        message repeats text that could be a key."""
        found = _SCHEME.fullmatch(str(named))
        if found is None:
            return None
        written, slash, rest = found.groups()
        scheme = written.lower()
        cloud = CLOUDS.get(PREVIOUS.get(scheme, scheme))
        if cloud is None or scheme not in CLOUDS or not slash:
            _refuse(f"`{written}:/{slash}…` is no address that biasgrid knows", cloud)
        if "@" in rest or "?" in rest:
            what = "an address with a key, a password or options in it is refused: it would be shown and stored"
            raise UserError(Problem(what, WHERE, f"give keys by environment variables, and {_form(cloud)}"))
        bucket, _, prefix = rest.partition("/")
        return cls(bucket, prefix.strip("/"), scheme)._validate()

    def __str__(self) -> str:
        return self.url("")

    @property
    def cloud(self) -> Cloud:
        return CLOUDS[self.scheme]

    def url(self, name: str) -> str:
        """The address of object `name`."""
        return f"{self.scheme}://{'/'.join(part for part in (self.bucket, self.prefix, name) if part)}"

    def _validate(self) -> Address:
        cloud = self.cloud
        if not cloud.bucket_name.fullmatch(self.bucket):
            what = f"`{self.bucket}` cannot be the name of a {cloud.bucket}"
            _refuse(f"{what}: 3 to 63 lower-case letters, digits and `-`, for some clouds `.` and `_`", cloud)
        wrong = next((part for part in self.prefix.split("/") if self.prefix and not _PART.fullmatch(part)), None)
        if wrong is not None:
            _refuse(f"`{wrong}` cannot be a part of a prefix: letters, digits, `.`, `_`, `=` and `-` only", cloud)
        return self


def _refuse(what: str, cloud: Cloud | None) -> NoReturn:
    raise UserError(Problem(what, WHERE, f"{_form(cloud)}, or name a directory"))


def _form(cloud: Cloud | None) -> str:
    known = " or ".join(f"`{one.form}`" for one in ([cloud] if cloud else CLOUDS.values()))
    return f"write {known}"
