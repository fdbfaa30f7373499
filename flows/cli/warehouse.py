"""`warehouse build`: the DuckDB file from the lake."""

from __future__ import annotations

import typer

from flows.cli.options import Data

app = typer.Typer(help="The DuckDB file, derived from the lake.", no_args_is_help=True)


@app.callback()
def warehouse() -> None:
    """The DuckDB file, derived from the lake."""


@app.command()
def build(data: Data = None) -> None:
    """Rebuild it from everything that has landed, journals of ended runs included."""
    from flows.preparation import open_lake
    from warehouse.build import build as built
    from warehouse.journal import recover

    lake = open_lake(data)
    rescued = recover(lake)
    if rescued:
        typer.echo(f"landed {rescued} responses that a crash had left in journals")
    typer.echo(built(lake))
