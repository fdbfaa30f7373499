"""The statistics as DuckDB macros in the schema `statistics`, one topic a file in `warehouse/macros`.

They stay in the finished file: analysts call the very same ones as the models.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

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
    "comparisons",
    "agreement",
    "assignments",
    "associations",
    "studentised_range",
    "spreads",
)
"""Files of `warehouse/macros`, each after those that it calls."""


def define(warehouse: duckdb.DuckDBPyConnection) -> None:
    """Creates the macros, and the tables that they look quantiles up in, in the database in use."""
    # in one transaction: each of its own would be synced to disk
    warehouse.execute(f"begin; create schema {SCHEMA}; {_definitions()}; commit")


@cache
def _definitions() -> str:
    folder = files("biasgrid.warehouse") / "macros"
    return "\n".join((folder / f"{topic}.sql").read_text(encoding="utf-8") for topic in TOPICS)


ROW_GROUP = 61_440
"""Rows that each thread holds in memory until they are packed: half of DuckDB's own number, half the memory."""


@cache
def blank() -> bytes:
    """The file, as its bytes: reading the macros takes as long as many models, and a copy takes none of it."""
    with TemporaryDirectory(prefix="biasgrid-blank-") as folder:
        path = Path(folder) / "blank.duckdb"
        with duckdb.connect() as session:
            session.execute(f"attach {literal(path)} as biasgrid (row_group_size {ROW_GROUP})")
            session.execute("use biasgrid")
            define(session)
        return path.read_bytes()
