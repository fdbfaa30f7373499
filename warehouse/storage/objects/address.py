"""Parses the address of a lake on S3-compatible storage: `s3://bucket/prefix`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from biasgrid.catalogs.errors import Problem, UserError

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem

ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
PAIR = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
OTHER_WAYS = (
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
FILES = {"AWS_SHARED_CREDENTIALS_FILE": ".aws/credentials", "AWS_CONFIG_FILE": ".aws/config"}
CONNECT_S, ANSWER_S = 5.0, 30.0
ANY_REGION = "us-east-1"
"""Region for storage without regions."""


def endpoint() -> str:
    """The address of a server other than Amazon's; empty if there is none."""
    return _first(ENDPOINTS)


def has_keys() -> bool:
    """Whether the environment or a file provides keys. Amazon's own machines may get keys without either."""
    if all(map(os.environ.get, PAIR)) or any(map(os.environ.get, OTHER_WAYS)):
        return True
    return any(Path(os.environ.get(name) or Path.home() / usual).is_file() for name, usual in FILES.items())


def refuse_lacking_keys() -> None:
    """Raises `UserError` if requests cannot be signed; on Amazon's machines, only if one key of the pair is
    missing."""
    missing = [name for name in PAIR if not os.environ.get(name)]
    if len(missing) == 1 or (endpoint() and not has_keys()):
        what = f"there are no keys for S3: {' and '.join(f'`{name}`' for name in missing)} not set"
        remedy = "set them in the environment, or name a profile (AWS_PROFILE)"
        raise UserError(Problem(what, "environment", remedy))


def filesystem(bucket: str, attempts: int) -> S3FileSystem:
    """The file system of `bucket`, with at most `attempts` per request. Raises `UserError` if the environment is
    invalid."""
    from pyarrow import fs

    refuse_lacking_keys()
    return fs.S3FileSystem(
        region=_region(bucket),
        connect_timeout=CONNECT_S,
        request_timeout=ANSWER_S,
        allow_delayed_open=True,  # a small file is sent in one request, which succeeds or fails as a whole
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=attempts),
        **_server(),
    )


def _server() -> dict[str, Any]:
    if not (named := endpoint()):
        return {}
    parts = urlsplit(named)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
        what = "the endpoint is no address of a server"
        remedy = "write `https://host` or `http://host:port`, without keys"
        raise UserError(Problem(what, " or ".join(ENDPOINTS), remedy))
    return {"scheme": parts.scheme, "endpoint_override": f"{parts.netloc}{parts.path.rstrip('/')}"}


def _region(bucket: str) -> str | None:
    if known := _first(REGIONS):
        return known
    if endpoint():
        return ANY_REGION
    from pyarrow import fs

    try:
        found: str = fs.resolve_s3_region(bucket)
    except OSError:
        return None  # the first request reports the error
    return found


def _first(names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := os.environ.get(name))), "")


WHERE = "--data or BIASGRID_DATA"
FORM = "write `s3://bucket/prefix`, or name a directory"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(/?)(.*)", re.DOTALL)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PART = re.compile(r"[A-Za-z0-9_=-][A-Za-z0-9._=-]*")


@dataclass(frozen=True, slots=True)
class Address:
    """A bucket and the prefix of a lake in it; `prefix` has no outer slashes and may be empty."""

    bucket: str
    prefix: str = ""

    @classmethod
    def of(cls, named: Path | str) -> Address | None:
        """The address in `named`; None if it is a local path. Raises `UserError` for an invalid address. No
        message repeats text that could be a key."""
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
        return cls(bucket, prefix.strip("/"))._validate()

    def __str__(self) -> str:
        return f"s3://{self.path('')}"

    def path(self, name: str) -> str:
        """The path of object `name` for pyarrow's file system."""
        return "/".join(part for part in (self.bucket, self.prefix, name) if part)

    def url(self, name: str) -> str:
        return f"s3://{self.path(name)}"

    def _validate(self) -> Address:
        if not _BUCKET.fullmatch(self.bucket):
            _refuse(f"`{self.bucket}` cannot be the name of a bucket: 3 to 63 of a–z, 0–9, `.` and `-`")
        wrong = next((part for part in self.prefix.split("/") if self.prefix and not _PART.fullmatch(part)), None)
        if wrong is not None:
            _refuse(f"`{wrong}` cannot be a part of a prefix: letters, digits, `.`, `_`, `=` and `-` only")
        return self


def _refuse(what: str, remedy: str = FORM) -> None:
    raise UserError(Problem(what, WHERE, remedy))
