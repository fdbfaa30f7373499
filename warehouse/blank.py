"""What every new warehouse begins with: a DuckDB file that holds the statistics' macros and nothing else."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from warehouse.formulas import define
from warehouse.sql_words import literal

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
