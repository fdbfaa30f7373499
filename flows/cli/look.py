"""`report`, `runs` and `sql`: looking at what landed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import Data, RunId


class ReportFormat(StrEnum):
    csv, langbite, json = "csv", "langbite", "json"


class SqlFormat(StrEnum):
    table, csv, json = "table", "csv", "json"


def report(
    run: RunId = None,
    format: Annotated[ReportFormat, typer.Option("--format", help="What to write.")] = ReportFormat.csv,  # noqa: A002
    out: Annotated[
        Path | None, typer.Option("--out", help="Directory to write into.", show_default="reports/RUN")
    ] = None,
    data: Data = None,
) -> None:
    """Write a run's findings as files: `csv`, `json`, or LangBiTe's three CSV files."""
    from flows.reporting import write_report

    for path in write_report(run, format.value, out, data):
        typer.echo(path)


def runs(data: Data = None) -> None:
    """List the runs, newest first."""
    from flows.preparation import existing_lake
    from flows.terminal import show_runs
    from warehouse.runs import all_runs

    show_runs(all_runs(existing_lake(data))[::-1])


def sql(
    query: Annotated[str, typer.Argument(help="A SELECT, or short: `from marts.pass_rates`.", show_default=False)],
    format: Annotated[SqlFormat, typer.Option("--format", help="How to show the rows.")] = SqlFormat.table,  # noqa: A002
    data: Data = None,
) -> None:
    """Ask the warehouse in SQL, read-only."""
    from flows.asking import ask
    from flows.preparation import existing_lake
    from flows.terminal import show_rows

    rows = ask(existing_lake(data), query)
    show_rows(rows, format.value)
