"""From a connector's name to its factory: ours, or a user's own from the entry points `biasgrid.connectors`."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, cast

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Connector, ConnectorFactory

if TYPE_CHECKING:
    from biasgrid.catalogs.loading.catalog import Catalog

GROUP = "biasgrid.connectors"
SHIPPED = {
    "openai": "biasgrid.tasks.connectors.providers.openai",
    "azure": "biasgrid.tasks.connectors.providers.azure",
    "huggingface": "biasgrid.tasks.connectors.providers.huggingface",
    "replicate": "biasgrid.tasks.connectors.providers.replicate",
    "http": "biasgrid.tasks.connectors.providers.http",
    "transformers": "biasgrid.tasks.connectors.providers.transformers",
    "simulated": "biasgrid.tasks.connectors.simulated.connector",
    "replay": "biasgrid.tasks.connectors.providers.replay",
}
"""Modules with a `connect`; imported when the connector is first used."""


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """The connector of a target. Raises UserError where it is unknown or its SDK is not installed."""
    return factory(target.connector)(target, key, catalog)


def factory(name: str) -> ConnectorFactory:
    try:
        if name in SHIPPED:
            return cast(ConnectorFactory, import_module(SHIPPED[name]).connect)
        return cast(ConnectorFactory, _entry_point(name).load())
    except ModuleNotFoundError as missing:
        raise _not_installed(name, missing) from missing
    except AttributeError as wrong:
        raise UserError(
            Problem(f"connector `{name}` cannot be loaded: {wrong}", f"entry point {GROUP}")
        ) from wrong


def names() -> list[str]:
    """Every connector that `models.yaml` may name."""
    return sorted({*SHIPPED, *(point.name for point in entry_points(group=GROUP))})


def _entry_point(name: str) -> EntryPoint:
    for point in entry_points(group=GROUP, name=name):
        return point
    raise UserError(Problem(f"connector `{name}` is unknown", "models.yaml", nearest(name, names())))


def _not_installed(name: str, missing: ModuleNotFoundError) -> UserError:
    return UserError(
        Problem(
            f"connector `{name}` needs the package `{missing.name}`, which is not installed",
            remedy="install it into biasgrid's environment",
        )
    )
