"""`serve`: Prefect's server, workers and a scenario every night, on one machine."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from flows.cli.options import Data, MaxCost, Models


class NightGate(StrEnum):
    regression, point, decided = "regression", "point", "decided"


def serve(
    scenario: Annotated[
        Path, typer.Argument(help="What runs every night: a scenario file, or one that comes along.")
    ] = Path("starter"),
    cron: Annotated[str, typer.Option("--cron", help="When: five fields.")] = "0 2 * * *",
    timezone: Annotated[str, typer.Option("--timezone", help="Of the schedule.")] = "UTC",
    model: Models = None,
    data: Data = None,
    gate: Annotated[
        NightGate, typer.Option("--gate", help="What fails a night: a regression alone, or what is not met, too.")
    ] = NightGate.regression,
    max_cost: MaxCost = None,
    host: Annotated[str, typer.Option("--host", help="Where Prefect's server listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Its port.")] = 4200,
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, help="Models that are asked side by side, a process each.")
    ] = 2,
    webhook_from: Annotated[
        str | None,
        typer.Option("--webhook-from", help="The environment variable with an address that alarms are posted to."),
    ] = None,
) -> None:
    """Serve a small team: Prefect's server with its UI, workers, and a scenario every night, until Ctrl-C.

    Where `PREFECT_API_URL` names a server, that one is used. Runs and their history stay when this ends.
    """
    from catalogs.scenario import Overrides
    from deployments.serving import Service
    from deployments.serving import serve as serving
    from flows.preparation import open_lake, prepare
    from flows.secrets import secret_blocks

    secrets = secret_blocks()
    prepared = prepare(str(scenario), Overrides(models=model or (), max_cost=max_cost), secrets)
    service = Service(
        scenario=str(scenario.absolute()) if scenario.exists() else str(scenario),
        cron=cron,
        timezone=timezone,
        data=str(open_lake(data).root),
        models=tuple(model or ()),
        gate=gate.value,
        max_cost=max_cost,
        host=host,
        port=port,
        at_once=at_once,
        webhook_from=webhook_from,
    )
    for notice in prepared.resolved.notices:
        typer.echo(f"note: {notice}", err=True)
    try:
        with _stopped_by_sigterm():
            serving(service, typer.echo)
    except KeyboardInterrupt:
        typer.echo("biasgrid: stopped", err=True)


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """As a service manager ends it: in order, as by Ctrl-C."""
    before = signal.signal(signal.SIGTERM, _as_ctrl_c)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _as_ctrl_c(*_: object) -> NoReturn:
    raise KeyboardInterrupt
