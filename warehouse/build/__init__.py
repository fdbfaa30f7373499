"""Builds the DuckDB warehouse: SQL models, their tests, integrity checks of the lake."""

from __future__ import annotations

from importlib import import_module


def load_warehouse() -> None:
    """Imports and prepares what a build needs. Takes half a second or more: call it while models answer."""
    import_module("biasgrid.warehouse.build.build").prepare()
