"""Factories of connectors by name: built in, and from the entry points `biasgrid.connectors`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, cast

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Connector, ConnectorFactory
from biasgrid.tasks.connectors.providers.chat import check_address

if TYPE_CHECKING:
    from biasgrid.catalogs.loading.catalog import Catalog

GROUP = "biasgrid.connectors"
PROVIDERS = "biasgrid.tasks.connectors.providers"
SHIPPED = {
    "openai": f"{PROVIDERS}.openai:connect",
    "azure": f"{PROVIDERS}.openai:connect_azure",
    "anthropic": f"{PROVIDERS}.anthropic:connect",
    "huggingface": f"{PROVIDERS}.huggingface:connect",
    "replicate": f"{PROVIDERS}.replicate:connect",
    "http": f"{PROVIDERS}.http:connect",
    "transformers": f"{PROVIDERS}.transformers:connect",
    "simulated": "biasgrid.tasks.connectors.simulated.panel:connect",
    "replay": f"{PROVIDERS}.replay:connect",
}
"""Factory of each connector, imported at its first use."""


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """The connector of a target. Raises UserError if it is unknown or its SDK is not installed."""
    return factory(target.connector)(target, key, catalog)


def is_checked(target: Target) -> bool:
    """Whether `connect` is known to raise nothing for a target, without importing its SDK, which takes half a
    second and 50 MB. Raises UserError if the target cannot work."""
    return target.connector in ("openai", "azure") and bool(check_address(target))


def factory(name: str) -> ConnectorFactory:
    with loading_sdk(name):
        return cast(ConnectorFactory, _entry_point(name).load())


@contextmanager
def loading_sdk(name: str) -> Iterator[None]:
    """Raises UserError if a connector's SDK is not installed, or if it cannot be loaded."""
    try:
        yield
    except ModuleNotFoundError as missing:
        remedy = "install it into biasgrid's environment"
        what = f"connector `{name}` needs the package `{missing.name}`, which is not installed"
        raise UserError(Problem(what, remedy=remedy)) from missing
    except AttributeError as wrong:
        what = f"connector `{name}` cannot be loaded: {wrong}"
        raise UserError(Problem(what, f"entry point {GROUP}")) from wrong


def names() -> list[str]:
    """All connectors that `models.yaml` may name."""
    return sorted({*SHIPPED, *(point.name for point in entry_points(group=GROUP))})


def _entry_point(name: str) -> EntryPoint:
    if name in SHIPPED:
        return EntryPoint(name, SHIPPED[name], GROUP)
    for point in entry_points(group=GROUP, name=name):
        return point
    raise UserError(Problem(f"connector `{name}` is unknown", "models.yaml", nearest(name, names())))
