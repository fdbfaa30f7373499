"""The DuckDB file: SQL models, their tests, the lake's integrity."""

from __future__ import annotations

from importlib import import_module


def load_warehouse() -> None:
    """Imports and prepares what a build needs: half a second and more, best spent while models answer."""
    import_module("biasgrid.warehouse.build.build").prepare()
