"""`warehouse build`, `compact`, `verify`, `check`, `views`; `connector check`; `doctor` for the installation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biasgrid.flows.cli.options import Data, Force

if TYPE_CHECKING:
    from rich.table import Table

    from biasgrid.flows.operations.reachability import Check

Full = Annotated[bool, typer.Option("--full", help="Compute all runs again.")]

app = typer.Typer(help="The DuckDB file, derived from the lake.", no_args_is_help=True)


@app.callback()
def warehouse() -> None:
    """The DuckDB file, derived from the lake."""


@app.command()
def build(data: Data = None, full: Full = False) -> None:
    """Add what has landed since it was built, journals of ended runs included: new runs, and those that were
    resumed, judged again or reviewed.

    Example: `biasgrid warehouse build`
    """
    from biasgrid.flows.results.retention import finish_forgetting
    from biasgrid.flows.runs.prepare import lake_to_change
    from biasgrid.warehouse.build.build import build as built
    from biasgrid.warehouse.storage.journal import find_damaged_lines, recover

    lake = lake_to_change(data)
    rescued = recover(lake)
    if rescued:
        typer.echo(f"landed {rescued} responses that a crash had left in journals")
    for damage in find_damaged_lines(lake):
        typer.echo(damage, err=True)
    finish_forgetting(lake)
    typer.echo(lake.display_path(built(lake, full=full)))


@app.command()
def compact(data: Data = None) -> None:
    """Write the files of each run as few large ones, sign them, then build. Runs do this when they end: this is
    for data of earlier releases, and for runs that were stopped.

    Example: `biasgrid warehouse compact`
    """
    from biasgrid.flows.runs.prepare import lake_to_change
    from biasgrid.warehouse.build.build import build as built
    from biasgrid.warehouse.storage.compaction import compact_runs
    from biasgrid.warehouse.storage.journal import recover

    lake = lake_to_change(data)
    recover(lake)
    fewer = compact_runs(lake)
    typer.echo(f"{fewer:,} files fewer")
    typer.echo(lake.display_path(built(lake)))


@app.command()
def verify(data: Data = None) -> None:
    """Check every file against the size, rows and SHA-256 that were signed when it was written. Restore manifests,
    replies that are still in journals, and the DuckDB file; name what is lost.

    Exit codes: 0 all is as it was written, or restored; 3 something is damaged.

    Example: `biasgrid warehouse verify`
    """
    from biasgrid.flows.operations.lake_verification import verify_lake
    from biasgrid.flows.results.show import patience
    from biasgrid.flows.runs.prepare import lake_to_change
    from biasgrid.warehouse.storage.errors import LakeDamaged

    lake = lake_to_change(data)
    with patience("checking every file"):
        found = verify_lake(lake)
    for restored in found.restored:
        typer.echo(f"restored: {restored}")
    typer.echo(f"{found.files:,} files of {found.bytes / 1e6:,.1f} MB checked")
    if found.damage:
        raise LakeDamaged(found.damage)


@app.command()
def check(data: Data = None) -> None:
    """Rebuild it, and keep the new file only if lake and marts are as expected; the old one stays otherwise.

    Exit codes: 0 all is as expected, 3 something is not, or could not be checked. Pages about each table are
    written to `expectations/index.html` in the data directory.

    Example: `biasgrid warehouse check`
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
    """The lake's Parquet tables as views, in SQL that a DuckDB session of your own can `.read`.

    Example: `biasgrid warehouse views`
    """
    from biasgrid.flows.results.sql import write_views
    from biasgrid.flows.terminal.encoding import write_data

    shown = write_views(out, data, force=force)
    write_data(shown if out is None else f"{out}\n")


connectors = typer.Typer(help="Connections to models, your own included.", no_args_is_help=True)


@connectors.callback()
def connector() -> None:
    """Connections to models, your own included."""


@connectors.command(name="check")
def check_connector(
    model: Annotated[str, typer.Argument(help="`provider/model`.", metavar="MODEL", show_default=False)],
) -> None:
    """Test a connector by a few real requests: replies, parameters, two at once, cancelling, closing.

    Exit codes: 0 it keeps the contract of docs/guides/connectors.md, 2 it does not, or no reply came.

    Example: `biasgrid connector check openai/gpt-4o-mini`
    """
    import asyncio
    from functools import partial

    from biasgrid.catalogs.loading.catalog import load_catalog
    from biasgrid.flows.operations.environment import secret_blocks
    from biasgrid.tasks.connectors import registry
    from biasgrid.tasks.connectors.contract import MOST_REQUESTS, check_contract
    from biasgrid.tasks.connectors.keys import find_key

    catalog = load_catalog()
    target = catalog.target(model)
    key = find_key(target, secret_blocks())
    typer.echo(f"sends up to {MOST_REQUESTS} real requests to {target.model}")
    found = asyncio.run(check_contract(target, key, partial(registry.connect, target, key, catalog)))
    for finding in found:
        typer.echo(f"{'broken' if finding.breach else 'ok':<8}{finding.rule}")
        if finding.breach:
            typer.echo(f"        → {finding.breach}")
    if any(finding.breach for finding in found):
        raise typer.Exit(2)


STYLES = {"ok": "green", "note": "yellow", "broken": "bold red"}


def doctor(data: Data = None) -> None:
    """Check versions, storage, catalogs, keys and Prefect; say what to do about what does not work.

    Exit codes: 0 nothing is broken (a missing key is no break), 2 otherwise. Shows no key.

    Example: `biasgrid doctor`
    """
    from biasgrid.flows.operations.doctor import diagnose, is_broken
    from biasgrid.flows.terminal.console import console

    found = diagnose(data)
    console().print(_table(found), highlight=False)
    if is_broken(found):
        raise typer.Exit(2)


def _table(checks: Sequence[Check]) -> Table:
    """State and part in words, so that it reads without color; what to do stands below what is wrong."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        shown = f"{check.what}\n→ {check.remedy}" if check.remedy else check.what
        table.add_row(Text(check.state, style=STYLES[check.state]), Text(check.part), Text(shown))
    return table
