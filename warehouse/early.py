"""What aggregating needs, loaded before it is needed."""

from __future__ import annotations

from importlib import import_module


def load_warehouse() -> None:
    """Takes half a second and more the first time, best spent while a server starts or models answer."""
    import_module("warehouse.build")
    from warehouse.blank import blank
    from warehouse.sql_models import load_models

    load_models()
    blank()
