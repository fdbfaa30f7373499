"""The statistics as DuckDB macros in the schema `statistics`, one topic a file in `warehouse/macros`.

They stay in the finished file: analysts call the very same ones as the models.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import duckdb

SCHEMA = "statistics"
TOPICS = (
    "distributions",
    "quantiles",
    "intervals",
    "decisions",
    "power",
    "differences",
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
    folder = files("warehouse") / "macros"
    return "\n".join((folder / f"{topic}.sql").read_text(encoding="utf-8") for topic in TOPICS)
