"""`serve`: Prefect's server, workers and a scenario every night, on one machine."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from biasgrid.flows.cli.options import Batch, Data, Library, MaxAge, MaxCost, MaxRequests, Models, Samples, Seed
from biasgrid.flows.cli.runs.benchmark import ReuseOption


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
    library: Library = None,
    reuse: ReuseOption = None,
    samples: Samples = None,
    seed: Seed = None,
    max_age: MaxAge = None,
    max_cost: MaxCost = None,
    max_requests: MaxRequests = None,
    batch: Batch = None,
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
    from biasgrid.catalogs.scenario.scenario import Overrides
    from biasgrid.deployments.serving import Service
    from biasgrid.deployments.serving import serve as serving
    from biasgrid.flows.operations.secrets import secret_blocks
    from biasgrid.flows.runs.prepare import open_lake, prepare

    given: dict[str, Any] = {
        "library": _path(library) if library else None,
        "models": model,
        "samples": samples,
        "seed": seed,
        "reuse": reuse.value if reuse else None,
        "max_age": max_age,
        "max_cost": max_cost,
        "max_requests": max_requests,
        "batch": batch,
    }
    settings = {name: value for name, value in given.items() if value is not None}
    prepared = prepare(_path(scenario), Overrides(**settings), secret_blocks())
    service = Service(
        scenario=_path(scenario),
        cron=cron,
        timezone=timezone,
        data=open_lake(data).named,
        settings=settings,
        gate=gate.value,
        host=host,
        port=port,
        at_once=at_once,
        webhook_from=webhook_from,
    )
    for notice in prepared.resolved.notices:
        typer.echo(f"note: {notice}", err=True)
    try:
        with _stopped_as_by_ctrl_c():
            serving(service, typer.echo)
    except KeyboardInterrupt:
        typer.echo("biasgrid: stopped", err=True)


def _path(named: Path) -> str:
    """As workers find it, who run elsewhere; what comes along has a name alone."""
    return str(named.absolute()) if named.exists() else str(named)


@contextmanager
def _stopped_as_by_ctrl_c() -> Iterator[None]:
    """As a service manager ends it, or a terminal that is closed, unless it was told not to mind: in order."""
    before = {word: signal.getsignal(word) for word in (signal.SIGTERM, signal.SIGHUP)}
    heard = [word for word, handler in before.items() if handler is not signal.SIG_IGN]
    for word in heard:
        signal.signal(word, _as_ctrl_c)
    try:
        yield
    finally:
        for word in heard:
            signal.signal(word, before[word])


def _as_ctrl_c(*_: object) -> NoReturn:
    raise KeyboardInterrupt
