"""What aggregating needs, loaded before it is needed."""

from __future__ import annotations

from importlib import import_module


def load_warehouse() -> None:
    """Takes half a second and more the first time, best spent while a server starts or models answer."""
    import_module("biasgrid.warehouse.build.build")
    from biasgrid.warehouse.build.macros import blank
    from biasgrid.warehouse.build.models import load_models

    load_models()
    blank()
