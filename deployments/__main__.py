"""`python -m biasgrid.deployments` prepares a Prefect server for biasgrid; repeating it changes nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import typer
from prefect.settings import get_current_settings

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.deployments.setting_up import WORDS, Settings, set_up
from biasgrid.flows.cli import main
from biasgrid.flows.runs.options import command

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
