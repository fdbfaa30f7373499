"""The address of a lake on S3-compatible storage: `s3://bucket/prefix`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from biasgrid.catalogs.errors import Problem, UserError

WHERE = "--data or BIASGRID_DATA"
FORM = "write `s3://bucket/prefix`, or name a directory"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(/?)(.*)", re.DOTALL)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PART = re.compile(r"[A-Za-z0-9_=-][A-Za-z0-9._=-]*")


@dataclass(frozen=True, slots=True)
class Address:
    """A bucket and where in it a lake lies; `prefix` has no slash at its ends and may be empty."""

    bucket: str
    prefix: str = ""

    @classmethod
    def of(cls, named: Path | str) -> Address | None:
        """The address that `named` is; None where it is a path of this machine. Raises `UserError` for what is
        meant as an address and is none. No message repeats what could be a key."""
        found = _SCHEME.fullmatch(str(named))
        if found is None:
            return None
        scheme, slash, rest = found.groups()
        if scheme.lower() != "s3" or not slash:
            _refuse(f"`{scheme}:/{slash}…` is no address that biasgrid knows")
        if "@" in rest or "?" in rest:
            what = "an address with a key, a password or options in it is refused: it would be shown and stored"
            _refuse(
                what, "give keys by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and name bucket and prefix only"
            )
        bucket, _, prefix = rest.partition("/")
        return cls(bucket, prefix.strip("/"))._checked()

    def __str__(self) -> str:
        return f"s3://{self.path('')}"

    def path(self, name: str) -> str:
        """As pyarrow's filesystem names what lies at `name` below the address."""
        return "/".join(part for part in (self.bucket, self.prefix, name) if part)

    def told(self, name: str) -> str:
        return f"s3://{self.path(name)}"

    def _checked(self) -> Address:
        if not _BUCKET.fullmatch(self.bucket):
            _refuse(f"`{self.bucket}` cannot be the name of a bucket: 3 to 63 of a–z, 0–9, `.` and `-`")
        wrong = next((part for part in self.prefix.split("/") if self.prefix and not _PART.fullmatch(part)), None)
        if wrong is not None:
            _refuse(f"`{wrong}` cannot be a part of a prefix: letters, digits, `.`, `_`, `=` and `-` only")
        return self


def _refuse(what: str, remedy: str = FORM) -> None:
    raise UserError(Problem(what, WHERE, remedy))
