"""S3-compatible storage as the environment describes it. Keys stay in the environment: the library reads them
there itself, and nothing here holds, stores or shows one."""

from __future__ import annotations

import os
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
"""What storage that has no regions goes by."""


def endpoint() -> str:
    """The address of a server other than Amazon's; empty where there is none."""
    return _first(ENDPOINTS)


def has_keys() -> bool:
    """Whether the environment or a file gives keys. A machine at Amazon may get its own without either."""
    if all(map(os.environ.get, PAIR)) or any(map(os.environ.get, OTHER_WAYS)):
        return True
    return any(Path(os.environ.get(name) or Path.home() / usual).is_file() for name, usual in FILES.items())


def refuse_lacking_keys() -> None:
    """Raises `UserError` where no request could be signed; of Amazon's own machines, only half a pair tells."""
    missing = [name for name in PAIR if not os.environ.get(name)]
    if len(missing) == 1 or (endpoint() and not has_keys()):
        what = f"there are no keys for S3: {' and '.join(f'`{name}`' for name in missing)} not set"
        remedy = "set them in the environment, or name a profile (AWS_PROFILE)"
        raise UserError(Problem(what, "environment", remedy))


def filesystem(bucket: str, attempts: int) -> S3FileSystem:
    """The storage of `bucket`; a request is sent at most `attempts` times, later and later. Raises `UserError`
    where the environment does not describe one."""
    from pyarrow import fs

    refuse_lacking_keys()
    return fs.S3FileSystem(
        region=_region(bucket),
        connect_timeout=CONNECT_S,
        request_timeout=ANSWER_S,
        allow_delayed_open=True,  # a small file is one request, which is whole or fails
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
        return None  # the first request tells what is wrong
    return found


def _first(names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := os.environ.get(name))), "")
