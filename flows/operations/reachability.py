"""Checks for `doctor` that keys exist and a Prefect server responds; never shows a key."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Provider, Target, endpoint_target
from biasgrid.flows.operations.environment import secret_blocks
from biasgrid.flows.operations.prefect_server import use_temporary_server
from biasgrid.tasks.connectors.client.error_mapping import without_query
from biasgrid.tasks.connectors.keys import missing_keys

State = Literal["ok", "note", "broken"]


@dataclass(frozen=True, slots=True)
class Check:
    """Result of one `doctor` check; a `note` need not be an error."""

    part: str
    state: State
    what: str
    remedy: str = ""


PATIENCE_S = 3.0
START_S = 60.0
"""Seconds that a temporary server has at least: on a busy machine it takes more than Prefect's 20 for a new
database, and one that has ended is not waited for."""


def keys(catalog: Catalog, use_blocks: bool) -> list[Check]:
    """One check per provider or chatbot that needs a key: where it was found, or every place searched."""
    providers = catalog.models.providers.items()
    return [
        *(_check_key(name, provider, use_blocks) for name, provider in providers if provider.key_env),
        *(_check_endpoint(name, catalog, use_blocks) for name in catalog.endpoints),
    ]


def _check_endpoint(name: str, catalog: Catalog, use_blocks: bool) -> Check:
    endpoint = catalog.endpoints[name]
    target = endpoint_target(name, endpoint.bare())
    part = f"endpoint {name}"
    missing = missing_keys([target], secret_blocks() if use_blocks else None)
    if missing:
        what, remedy = ("; ".join(words) for words in zip(*((m.what, m.remedy) for m in missing), strict=True))
        return Check(part, "note", what, f"{remedy}, if you test this chatbot")
    held = ", ".join(dict.fromkeys(f"`{variable}`" for variable, _ in endpoint.variables()))
    address = without_query(endpoint.url)
    return Check(part, "ok", f"{address}, with {held}" if held else f"{address}, which needs no key")


def _check_key(name: str, provider: Provider, use_blocks: bool) -> Check:
    target = Target(
        model=f"{name}/…", provider=name, name="…", connector=provider.connector, key_env=provider.key_env
    )
    part = f"key {name}"
    missing = missing_keys([target], secret_blocks() if use_blocks else None)
    if missing:
        return Check(part, "note", missing[0].what, f"{missing[0].remedy}, if you test models of {name}")
    held = next((variable for variable in provider.key_env if os.environ.get(variable, "").strip()), None)
    return Check(part, "ok", f"environment variable `{held}`" if held else "a Prefect Secret block")


def prefect_server() -> Check:
    """Check of the configured Prefect server by one short request, or of the temporary one."""
    from prefect.settings import get_current_settings

    settings = get_current_settings()
    address = settings.api.url
    if not address:
        return _own_server(allowed=settings.server.ephemeral.enabled)
    from prefect.client.orchestration import get_client

    shown = without_query(address)
    client = get_client(httpx_settings={"timeout": PATIENCE_S}, sync_client=True)
    failure = client.api_healthcheck()
    if failure is None:
        return Check("Prefect", "ok", f"server at {shown} answers")
    remedy = "start it (prefect server start), or unset PREFECT_API_URL for an ephemeral one"
    # the kind of failure only: its text may contain the address with a password
    return Check("Prefect", "broken", f"server at {shown} does not answer ({type(failure).__name__})", remedy)


def _own_server(*, allowed: bool) -> Check:
    if allowed:
        return Check("Prefect", "ok", "ephemeral: each run starts a server of its own")
    remedy = "set PREFECT_API_URL to a server (prefect server start), or PREFECT_SERVER_ALLOW_EPHEMERAL_MODE=true"
    return Check("Prefect", "broken", "Prefect's settings name no server and allow no temporary one", remedy)


@contextmanager
def require_prefect() -> Iterator[None]:
    """Prefect has a server within the block, a temporary one if none is configured. Raises UserError if that does
    not start, or if the configured one does not respond, or no longer."""
    from httpx import TransportError  # as Prefect's client raises it: connectors have errors of their own

    server = prefect_server()
    if server.state == "broken":
        raise UserError(Problem(server.what, "PREFECT_API_URL", server.remedy))
    try:
        with _temporary_server():
            yield
    except RuntimeError as error:
        if "temporary server" not in str(error) and "Failed to reach API" not in str(error):
            raise
        remedy = "try again, or start a server (prefect server start) and set PREFECT_API_URL"
        raise UserError(Problem(f"Prefect does not answer: {error}", remedy=remedy)) from error
    except TransportError as error:
        what = f"Prefect's server does not answer any more: {type(error).__name__}"
        remedy = "start it again; `biasgrid show` shows what has landed, and the command that continues the run"
        raise UserError(Problem(what, "PREFECT_API_URL", remedy)) from error


@contextmanager
def _temporary_server() -> Iterator[None]:
    """Prefect knows the address of this process's own server within the block, if none is configured."""
    from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings

    settings = get_current_settings()
    if settings.api.url is not None:
        yield
        return
    patience_s = max(settings.server.ephemeral.startup_timeout_seconds, START_S)
    api = use_temporary_server(settings.to_environment_variables(exclude_unset=True), patience_s)
    with temporary_settings({PREFECT_API_URL: api}):
        yield
