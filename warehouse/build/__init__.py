"""Builds the DuckDB warehouse: SQL models, their tests, integrity checks of the lake."""

from __future__ import annotations

from importlib import import_module
from threading import Lock

_one_at_a_time = Lock()


def load_warehouse(has_file: bool) -> None:
    """Imports and prepares what a build needs; if the lake `has_file`, what a build by runs needs. Takes half a
    second or more: call it while models answer."""
    with _one_at_a_time:  # a second thread waits for the first, in place of doing it all as well
        import_module("biasgrid.warehouse.build.build").prepare(has_file)
