"""Defines the statistics as DuckDB macros in the schema `statistics`, one file per topic in `warehouse/macros`.

They remain in the finished file, so analysts call the same macros as the models.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, gettempdir
from time import time

import duckdb

from biasgrid.warehouse.build.sql_quoting import literal

SCHEMA = "statistics"
TOPICS = (
    "distributions",
    "quantiles",
    "intervals",
    "decisions",
    "power",
    "differences",
    "groups",
    "clusters",
    "comparisons",
    "agreement",
    "judges",
    "assignments",
    "associations",
    "studentised_range",
    "spreads",
)
"""Files of `warehouse/macros`, each after those that it calls."""


def define(warehouse: duckdb.DuckDBPyConnection, topics: Iterable[str] = TOPICS) -> None:
    """Creates the macros and their quantile tables in the current database; `topics`: in the order of TOPICS."""
    # one transaction: otherwise each definition is synced to disk
    warehouse.execute(f"begin; create schema {SCHEMA}; {_definitions(tuple(topics))}; commit")


@cache
def _definitions(topics: tuple[str, ...]) -> str:
    folder = files("biasgrid.warehouse") / "macros"
    return "\n".join((folder / f"{topic}.sql").read_text(encoding="utf-8") for topic in topics)


ROW_GROUP = 61_440
"""Rows per row group: half of DuckDB's default, to halve the memory of each thread."""

STORAGE_VERSION = "v1.4.0"
"""The oldest DuckDB that reads the file: tools bundle older versions than ours. Views and macros are stored parsed
and call no function that it lacks, such as `if`."""


FORMAT = f"row_group_size {ROW_GROUP}, storage_version {literal(STORAGE_VERSION)}"
"""Options with which each file is attached that is written."""

BLANK = "biasgrid-blank-"
"""Begin of the name of a temporary folder, which is needed for a second at most."""

HOUR = 3600


@cache
def blank() -> bytes:
    """The bytes of a database with the macros: copying them is much faster than parsing the macros again."""
    _remove_left_over()
    with TemporaryDirectory(prefix=BLANK) as folder:
        path = Path(folder) / "blank.duckdb"
        with duckdb.connect() as session:
            session.execute(f"attach {literal(path)} as biasgrid ({FORMAT})")
            session.execute("use biasgrid")
            define(session)
        return path.read_bytes()


def _remove_left_over() -> None:
    """Removes the folders of processes that were killed meanwhile."""
    for folder in Path(gettempdir()).glob(f"{BLANK}*"):
        with suppress(OSError):  # another process removes it, or another user owns it
            if time() - folder.stat().st_mtime > HOUR:
                rmtree(folder)
