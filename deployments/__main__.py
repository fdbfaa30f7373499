"""`python -m biasgrid.deployments` prepares a Prefect server for biasgrid; repeating it changes nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import httpx
import typer
from prefect.settings import get_current_settings

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.deployments.setting_up import Settings, set_up
from biasgrid.deployments.webhooks import webhook_address
from biasgrid.deployments.work_pools import PoolType
from biasgrid.flows.cli import main

Pools = Annotated[PoolType, typer.Option("--pools", help="Type of the pool that asks models.")]
NightPools = Annotated[PoolType, typer.Option("--night-pools", help="Type of the pool in which nights wait.")]
Notify = Annotated[
    str | None,
    typer.Option("--notify", help="A notification block that gets the alarms, `slack-webhook/on-call`."),
]
Webhook = Annotated[
    str | None,
    typer.Option(
        "--webhook-from", help="In place of it, the environment variable that holds a webhook's address."
    ),
]
Missed = Annotated[
    float, typer.Option("--heartbeat-missed", min=60, help="Seconds without a heartbeat: the run is lost.")
]
Late = Annotated[float, typer.Option("--late", min=10, help="Seconds that a night may begin after its time.")]
Limits = Annotated[
    list[str] | None,
    typer.Option("--limit", help="`provider=n`: requests at once, over all workers. May be repeated."),
]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def set_up_server(
    pools: Pools = "process",
    night_pools: NightPools = "process",
    notify: Notify = None,
    webhook_from: Webhook = None,
    heartbeat_missed: Missed = 90,
    late: Late = 900,
    limit: Limits = None,
) -> None:
    """Create or change work pools, alarms and limits on the Prefect server that `PREFECT_API_URL` names."""
    if not os.environ.get("PREFECT_API_URL"):
        remedy = "export it, such as http://127.0.0.1:4200/api"
        raise UserError(Problem("no Prefect server is named", "PREFECT_API_URL", remedy))
    settings = Settings(
        pool_type=pools,
        nights_type=night_pools,
        webhook_url=webhook_address(webhook_from) if webhook_from else None,
        notification_block=notify,
        heartbeat_missed_s=heartbeat_missed,
        late_s=late,
        provider_limits=dict(_limit(one) for one in limit or ()),
    )
    with _reporting_server_errors():
        changes = asyncio.run(set_up(settings))
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


def _limit(given: str) -> tuple[str, int]:
    provider, _, number = given.partition("=")
    if not provider or not number.isdecimal():
        raise UserError(Problem(f"`{given}` is no limit", "--limit", "write `provider=n`, such as `openai=32`"))
    return provider, int(number)


if __name__ == "__main__":
    main(app)
