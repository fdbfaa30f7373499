"""`serve`: Prefect's server, workers and a nightly scenario; `respondent serve`: simulated models over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.benchmark.kind import BENCHMARK, BenchmarkOptions
from biasgrid.flows.operations.interruption import interruption
from biasgrid.flows.runs.options import Options, command, list_settings, option, same
from biasgrid.flows.scheduled.options import NightOptions


@dataclass(frozen=True, kw_only=True)
class ServeOptions(NightOptions):
    """What `serve` may be given."""

    scenario: str | dict[str, Any] | None = option(
        "starter", "", "What runs every night: a scenario file, or one that comes along.", cli=Path
    )
    cron: str = option("0 2 * * *", "--cron", "When: five fields.")
    timezone: str = option("UTC", "--timezone", "Of the schedule.")
    host: str = option("127.0.0.1", "--host", "Where Prefect's server listens.")
    port: int = option(4200, "--port", "Its port.", min=1, max=65535)
    at_once: int = option(2, "--at-once", "Models that are asked side by side, a process each.", min=1)
    metrics_port: int | None = option(
        None, "--metrics-port", "Where Prometheus reads counters of all runs, such as 9464.", min=1, max=65535
    )
    webhook_from: str | None = option(
        None, "--webhook-from", "The environment variable with an address that alarms are posted to."
    )


WORDS = (
    "scenario cron timezone models data gate library reuse samples seed max_age max_cost max_requests batch * "
    "deadline confirm catch_up bound host port metrics_port at_once webhook_from"
)


@command(ServeOptions, WORDS)
def serve(given: ServeOptions) -> None:
    """Serve a small team: Prefect's server with its UI, workers, and a scenario every night, until Ctrl-C.

    Where `PREFECT_API_URL` names a server, that one is used. Runs and their history stay when this ends.

    Example: `biasgrid serve my-scenario.yaml`
    """
    from biasgrid.flows.operations.environment import data_place, secret_blocks
    from biasgrid.flows.operations.prefect_server import require_home
    from biasgrid.flows.runs.prepare import open_lake
    from biasgrid.warehouse.storage.lake import Lake

    require_home()
    scenario = _path(str(given.scenario))
    settings = given.pick(*list_settings(BenchmarkOptions)) | (
        {"library": _path(given.library)} if given.library else {}
    )
    prepared = BENCHMARK.prepare(scenario, BenchmarkOptions(**settings), secret_blocks())
    serving = import_module("biasgrid.deployments.serving")  # named, since deployments import flows
    service = serving.Service(
        scenario=scenario,
        data=Lake.at(data_place(given.data)).named,
        settings=settings,
        night=given.pick("gate", "deadline", "confirm", "catch_up", "bound"),
        **given.pick("cron", "timezone", "host", "port", "metrics_port", "at_once", "webhook_from"),
    )
    if found := serving.find_problems(service):
        raise UserError(found)
    open_lake(given.data)
    for notice in prepared.resolved.notices:
        typer.echo(f"note: {notice}", err=True)
    interruption.advice = lambda: "all is stopped; what has landed stays"
    serving.serve(service, typer.echo)


def _path(named: str) -> str:
    """As workers find it, who run elsewhere; what comes along has a name alone."""
    return str(Path(named).absolute()) if Path(named).exists() else named


respondents = typer.Typer(help="Simulated models of known bias.", no_args_is_help=True)


@respondents.callback()
def respondent() -> None:
    """Simulated models of known bias."""


@dataclass(frozen=True, kw_only=True)
class RespondentOptions(Options):
    """What `respondent serve` may be given."""

    port: int = option(8080, "--port", "0 takes a free one.", min=0, max=65535)
    host: str = option("127.0.0.1", "--host", "The address to listen on.")
    default: str = option("fair", "--respondent", "Answers for every model that is no respondent.")
    model: list[str] | None = option(None, "--map", "`MODEL=RESPONDENT`: gives one model to another respondent.")
    library: Path | None = option(
        None, "--library", "Templates to use: a file or directory, LangBiTe's format included.", read=same
    )
    journal: Path | None = option(
        None, "--journal", "Appends to this file what was asked and what became of it (JSON lines).", read=same
    )
    state: Path | None = option(
        None, "--state", "A directory in which files, batches and tuned models outlive the server.", read=same
    )


@respondents.command("serve")
@command(RespondentOptions, "port host default model library journal state")
def serve_respondents(given: RespondentOptions) -> None:
    """Serve simulated respondents in the OpenAI, Hugging Face and Replicate protocols, until Ctrl-C.

    Point an SDK at it, say `OPENAI_BASE_URL=http://127.0.0.1:8080/v1`. Any model name is answered; `biased` is
    answered by that respondent. OpenAI's Batch API and fine-tuning are served, too. No key is checked, but for
    `wrong-key`, which is rejected. `GET /journal` shows what was asked.

    Example: `biasgrid respondent serve --port 8080`
    """
    from biasgrid.catalogs.loading.catalog import load_catalog
    from biasgrid.tasks.connectors.simulated.panel import EVERY
    from biasgrid.tasks.connectors.simulated.server.app import build_app
    from biasgrid.tasks.connectors.simulated.server.app import serve as listen

    catalog = load_catalog(given.library or "shipped")
    mapping = {EVERY: given.default} | _parse_mapping(given.model or [])
    app = build_app(catalog, given.default, mapping, journal=given.journal, state=given.state)
    listen(app, given.port, given.host, on_ready=_ready)


def _parse_mapping(pairs: list[str]) -> dict[str, str]:
    mapping = {}
    for pair in pairs:
        name, separator, respondent = pair.rpartition("=")
        if not separator or not name:
            raise UserError(Problem(f"`{pair}` is no mapping", "--map", "write MODEL=RESPONDENT"))
        mapping[name] = respondent
    return mapping


def _ready(address: str) -> None:
    typer.echo(f"respondents at {address}: OpenAI and Hugging Face at {address}/v1, Replicate at {address}")
