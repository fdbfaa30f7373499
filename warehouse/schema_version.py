"""By which schema a file of the lake was written: older ones are read, newer ones refused, not guessed at."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import polars as pl
import pyarrow as pa

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.warehouse.schemas import SCHEMA_VERSION

KEY = "biasgrid.schema"
"""In the metadata of every Parquet file; files without it are older than the first number."""


class LakeTooNew(UserError):
    """A newer biasgrid wrote into this lake: what its files mean cannot be known here."""


def stamped(rows: pa.Table) -> pa.Table:
    """`rows` with the version of their schema in the metadata."""
    return rows.replace_schema_metadata({**(rows.schema.metadata or {}), KEY: str(SCHEMA_VERSION)})


def version_of(file: Path) -> str:
    """The version that a Parquet file was written by: a number, `0` where it is older than numbers. Files that
    cannot be read are told of by who reads them."""
    with suppress(pl.exceptions.PolarsError, OSError):
        return pl.read_parquet_metadata(file).get(KEY, "0")
    return "0"


def refuse_newer(files: Iterable[Path]) -> None:
    """Raises `LakeTooNew` with the first of `files` that a newer biasgrid has written."""
    for file in files:
        version = version_of(file)
        if not version.isdecimal() or int(version) > SCHEMA_VERSION:
            raise LakeTooNew(_told(file, version))


def _told(file: Path, version: str) -> Problem:
    return Problem(
        what=f"a newer biasgrid wrote this, by schema `{version[:20]}`; this one knows {SCHEMA_VERSION}",
        where=str(file),
        remedy="use that biasgrid, upgrade this one, or name another data directory",
    )
