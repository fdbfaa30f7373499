"""The place of data, and keys from Prefect Secret blocks for machines whose environment holds none."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, cast

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.tasks.connectors.keys import Secrets

DATA = "BIASGRID_DATA"


def data_place(named: str | Path | None = None) -> str | Path:
    """Data location, a directory or `s3://bucket/prefix`: as named, else `BIASGRID_DATA`, else `data`. Raises
    UserError for an empty name and for half an address."""
    if named is not None and not str(named).strip():
        raise UserError(Problem("no data directory is named", "--data", "name one, or leave the option out"))
    place = named or os.environ.get(DATA) or "data"
    if re.match(r"s3:(?!//)", str(place)):
        what = f"`{place}` is no address of a bucket"
        raise UserError(Problem(what, f"--data or {DATA}", "write `s3://bucket/prefix`, or name a directory"))
    return place


def secret_blocks() -> Secrets | None:
    """A look-up of Secret blocks if a Prefect server is configured; None if only the environment counts."""
    return _read if os.environ.get("PREFECT_API_URL") else None


def _read(name: str) -> str | None:
    """Raises UserError where the server, which may hold the key, does not answer, or holds something else."""
    import httpx
    from prefect.blocks.system import Secret

    try:
        block = cast(Secret[Any], Secret.load(name, _sync=True))  # type: ignore[call-arg]
    except (ValueError, RuntimeError) as error:
        if str(error).startswith("Unable to find"):
            return None
        raise UserError(_no_text(name)) from error
    except httpx.HTTPStatusError as error:
        what = f"the Prefect server cannot read the key `{name}` (HTTP {error.response.status_code})"
        remedy = f"save the Secret block `{name}` again"
        if error.response.status_code == httpx.codes.UNAUTHORIZED:
            what = f"the Prefect server does not let us look for the key `{name}`"
            remedy = "export PREFECT_API_AUTH_STRING, `user:password` as the server has it"
        raise UserError(Problem(what, "PREFECT_API_URL", remedy)) from error
    except httpx.TransportError as error:
        what = f"the Prefect server that may hold the key `{name}` does not answer"
        remedy = "start it, or unset this: keys of the environment need none"
        raise UserError(Problem(what, "PREFECT_API_URL", remedy)) from error
    key = block.value.get_secret_value()  # `get` would read a key of digits as a number
    if not isinstance(key, str):
        raise UserError(_no_text(name))
    return key


def _no_text(name: str) -> Problem:
    what = f"the Prefect Secret block `{name}` holds no text"
    return Problem(what, "PREFECT_API_URL", "save the key again as its value, or unset this")
