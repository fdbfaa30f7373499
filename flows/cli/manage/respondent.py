"""`respondent serve`: simulated models over HTTP, for trying things out with the real SDKs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.cli.options import Library

app = typer.Typer(help="Simulated models of known bias.", no_args_is_help=True)


@app.callback()
def respondent() -> None:
    """Simulated models of known bias."""


@app.command()
def serve(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")] = 8080,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    default: Annotated[str, typer.Option("--respondent", help="Answers for every model of the catalog.")] = "fair",
    model: Annotated[
        list[str] | None,
        typer.Option("--map", help="`MODEL=RESPONDENT`: gives one model to another respondent."),
    ] = None,
    library: Library = None,
    journal: Annotated[
        Path | None,
        typer.Option("--journal", help="Appends to this file what was asked and what became of it (JSON lines)."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option("--state", help="A directory in which files, batches and tuned models outlive the server."),
    ] = None,
) -> None:
    """Serve simulated respondents in the OpenAI, Hugging Face and Replicate protocols, until Ctrl-C.

    Point an SDK at it, say `OPENAI_BASE_URL=http://127.0.0.1:8080/v1`. A request for the model `biased` is
    answered by that respondent. OpenAI's Batch API and fine-tuning are served, too. No key is checked, but for
    `wrong-key`, which is rejected. `GET /journal` tells what was asked.
    """
    from biasgrid.catalogs.loading.catalog import load_catalog
    from biasgrid.tasks.connectors.simulated.server.app import build_app
    from biasgrid.tasks.connectors.simulated.server.app import serve as listen

    catalog = load_catalog(library or "shipped")
    app = build_app(catalog, default, _mapping(model or []), journal=journal, state=state)
    listen(app, port, host, on_ready=_ready)


def _mapping(pairs: list[str]) -> dict[str, str]:
    mapping = {}
    for pair in pairs:
        name, separator, respondent = pair.rpartition("=")
        if not separator or not name:
            raise UserError(Problem(f"`{pair}` is no mapping", "--map", "write MODEL=RESPONDENT"))
        mapping[name] = respondent
    return mapping


def _ready(address: str) -> None:
    typer.echo(f"respondents at {address}: OpenAI and Hugging Face at {address}/v1, Replicate at {address}")
