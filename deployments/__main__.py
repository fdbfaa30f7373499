"""`python -m biasgrid.deployments` prepares a Prefect server for biasgrid; repeating it changes nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import typer
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate, GlobalConcurrencyLimitUpdate
from prefect.exceptions import ObjectNotFound
from prefect.settings import get_current_settings

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.schema.models import ModelsFile
from biasgrid.deployments.alarms import (
    OURS,
    Route,
    block_id,
    find_block,
    is_notice,
    load_automations,
    remove_obsolete,
    set_up_alarm,
    set_up_webhook,
    webhook_address,
)
from biasgrid.deployments.work_pools import NIGHTS, SHARDS, PoolType, set_up_pool
from biasgrid.flows.cli import main
from biasgrid.flows.runs.lease_pools import Pool
from biasgrid.flows.runs.options import command, option


def parse_limits(given: list[str] | None) -> dict[str, int]:
    """Limits by provider, or by model, of texts such as `openai=32`. Raises UserError."""
    pairs = [(one, *one.split("=", 1)) for one in given or ()]
    for one, *pair in pairs:
        if len(pair) < 2 or not pair[0] or not pair[1].isdecimal():
            raise UserError(Problem(f"`{one}` is no limit", "--limit", "write `provider=n`, such as `openai=32`"))
    limits = {provider: int(number) for _, provider, number in pairs}
    if limits:
        _refuse_unknown_scopes(limits, load_catalog().models)
    return limits


def _refuse_unknown_scopes(limits: Mapping[str, int], known: ModelsFile) -> None:
    """Raises UserError for limits that no run would keep to."""
    own = {
        name
        for name, entry in known.models.items()
        if entry.limits and "concurrency" in entry.limits.model_fields_set
    }
    scopes = {*known.providers, *own}
    remedy = "name a provider of models.yaml, or a model whose concurrency is its own"
    wrong = [
        Problem(f"there is no provider `{name}`", "--limit", f"{nearest(name, scopes)} {remedy}".strip())
        for name in sorted({*limits} - scopes)
    ]
    if wrong:
        raise UserError(wrong)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings that differ between installations."""

    pool_type: PoolType = option("process", "--pools", "Type of the pool that asks models.")
    nights_type: PoolType = option("process", "--night-pools", "Type of the pool in which nights wait.")
    notify: list[str] | None = option(
        None,
        "--notify",
        "A notification block that gets the alarms, `slack-webhook/on-call`; by severity and deployment tag: "
        "`broken=pagerduty-webhook/on-call`, `worse@team-a=slack-webhook/team-a`. May be repeated.",
    )
    webhook_url: str | None = option(
        None,
        "--webhook-from",
        "The environment variable that holds the address of a webhook that gets all alarms.",
        read=lambda name: name and webhook_address(name),
    )
    """Stored as a secret block; notifications are JSON with `subject`, `body` and `text`."""
    heartbeat_missed_s: float = option(
        90.0, "--heartbeat-missed", "Seconds without a heartbeat: the run is lost.", min=60
    )
    """Job templates send a heartbeat every 30 s, Prefect's minimum."""
    late_s: float = option(900.0, "--late", "Seconds that a night may begin after its time.", min=10)
    silent_s: float = option(
        93_600.0, "--silent", "Seconds after the end of a night within which the next one must end.", min=10
    )
    provider_limits: Mapping[str, int] | None = option(
        None,
        "--limit",
        "`provider=n`: requests at once, over all workers. May be repeated.",
        cli=list[str] | None,
        read=parse_limits,
    )
    """By default those of `models.yaml`."""


WORDS = (
    "pools:pool_type night_pools:nights_type notify webhook_from:webhook_url "
    "heartbeat_missed:heartbeat_missed_s late:late_s silent:silent_s limit:provider_limits"
)
"""Of the command that sets up a server."""


async def set_up(settings: Settings | None = None, client: PrefectClient | None = None) -> list[str]:
    """Creates or updates resources on the Prefect server and returns each change; notifications only if a
    recipient is named. Raises UserError for a missing block or a pool of another type."""
    settings = settings or Settings()
    if client is None:
        async with get_client() as opened:
            return await set_up(settings, opened)
    changes = [
        await set_up_pool(client, NIGHTS, settings.nights_type),
        await set_up_pool(client, SHARDS, settings.pool_type),
        *await _set_up_alarms(client, settings),
        *[await set_up_limit(client, *limit) for limit in (settings.provider_limits or {}).items()],
    ]
    return [change for change in changes if change]


async def _set_up_alarms(client: PrefectClient, settings: Settings) -> list[str | None]:
    changes: list[str | None] = [*await remove_obsolete(client)]
    if settings.webhook_url:
        changes.append(await set_up_webhook(client, settings.webhook_url))
    routes = [Route.parse(one) for one in settings.notify or ()]
    blocks = [await block_id(client, route.block) for route in routes]
    webhook = await find_block(client, "/".join(OURS))
    seconds = {"lost": settings.heartbeat_missed_s, "late": settings.late_s, "silent": settings.silent_s}
    for automation in load_automations(seconds):
        if webhook or not is_notice(automation):
            changes.append(await set_up_alarm(client, automation, webhook))
        if is_notice(automation):
            narrowed = [(route.narrow(automation), block) for route, block in zip(routes, blocks, strict=True)]
            changes += [await set_up_alarm(client, own, block) for own, block in narrowed if own]
    return changes


async def set_up_limit(client: PrefectClient, provider: str, limit: int) -> str | None:
    """Limits concurrent requests to a provider over all workers; returns the change, or None."""
    name = Pool(provider, limit).name
    try:
        found = await client.read_global_concurrency_limit_by_name(name)
    except ObjectNotFound:
        await client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=name, limit=limit))
        return f"created limit {name}: {limit}"
    if found.limit == limit:
        return None
    await client.update_global_concurrency_limit(name, GlobalConcurrencyLimitUpdate(limit=limit))
    return f"changed limit {name}: {found.limit} → {limit}"


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@command(Settings, WORDS)
def set_up_server(given: Settings) -> None:
    """Create or change work pools, alarms and limits on the Prefect server that `PREFECT_API_URL` names."""
    if not os.environ.get("PREFECT_API_URL"):
        remedy = "export it, such as http://127.0.0.1:4200/api"
        raise UserError(Problem("no Prefect server is named", "PREFECT_API_URL", remedy))
    with _reporting_server_errors():
        changes = asyncio.run(set_up(given))
    typer.echo("\n".join(changes) or "nothing to change")


@contextmanager
def _reporting_server_errors() -> Iterator[None]:
    """Raises `UserError` if the server does not answer, or rejects the credentials."""
    where = str(get_current_settings().api.url)
    try:
        yield
    except httpx.HTTPStatusError as error:
        if error.response.status_code != httpx.codes.UNAUTHORIZED:
            raise
        remedy = "export PREFECT_API_AUTH_STRING, `user:password` as the server has it"
        raise UserError(Problem("the Prefect server does not let us in", where, remedy)) from error
    except httpx.TransportError as error:
        remedy = "start it, or name another one in PREFECT_API_URL"
        raise UserError(Problem("no Prefect server answers", where, remedy)) from error


if __name__ == "__main__":
    main(app)
