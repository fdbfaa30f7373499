"""`warehouse build` and `check`: the DuckDB file from the lake; `views`: the lake for a DuckDB of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biasgrid.flows.cli.options import Data, Force

app = typer.Typer(help="The DuckDB file, derived from the lake.", no_args_is_help=True)


@app.callback()
def warehouse() -> None:
    """The DuckDB file, derived from the lake."""


@app.command()
def build(data: Data = None) -> None:
    """Rebuild it from everything that has landed, journals of ended runs included."""
    from biasgrid.flows.runs.prepare import lake_to_change
    from biasgrid.warehouse.build.build import build as built
    from biasgrid.warehouse.storage.journal import recover

    lake = lake_to_change(data)
    rescued = recover(lake)
    if rescued:
        typer.echo(f"landed {rescued} responses that a crash had left in journals")
    typer.echo(lake.told(built(lake)))


@app.command()
def check(data: Data = None) -> None:
    """Rebuild it, and keep the new file only if lake and marts are as expected; the old one stays otherwise.

    Exit codes: 0 all is as expected, 3 something is not, or could not be checked. Pages about each table are
    written to `expectations/index.html` in the data directory.
    """
    from biasgrid.flows.results.show import patience, show_report
    from biasgrid.flows.runs.prepare import lake_to_change
    from biasgrid.warehouse.expectations.process import Inspector
    from biasgrid.warehouse.expectations.report import ExpectationsFailed
    from biasgrid.warehouse.storage.journal import recover

    lake = lake_to_change(data)
    try:
        with patience("building the warehouse, and looking through lake and marts"), Inspector() as inspector:
            # while Great Expectations loads in a process of its own
            from biasgrid.warehouse.expectations.gate import build_inspected

            recover(lake)
            report = build_inspected(lake, inspector)
    except ExpectationsFailed as failed:
        if failed.report:
            show_report(failed.report, lake)
        raise
    show_report(report, lake)


@app.command()
def views(
    out: Annotated[Path | None, typer.Option("--out", help="File to write.", show_default="shown")] = None,
    force: Force = False,
    data: Data = None,
) -> None:
    """The lake's Parquet tables as views, in SQL that a DuckDB session of your own can `.read`."""
    from biasgrid.flows.results.sql import write_views
    from biasgrid.flows.terminal.encoding import write_data

    told = write_views(out, data, force=force)
    write_data(told if out is None else f"{out}\n")
