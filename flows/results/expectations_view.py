"""What an inspection of lake and marts found, on the terminal: a line a table."""

from __future__ import annotations

from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from biasgrid.flows.terminal.progress import console
from biasgrid.warehouse.expectations.report import Report
from biasgrid.warehouse.storage.lake import Lake


def patience(what: str) -> Status:
    """Tells what takes its time, on a terminal and while it does."""
    return Console(stderr=True).status(Text(what))


def show_report(report: Report, lake: Lake) -> None:
    """Every table with its rows, and how much of what is expected of it does not hold."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("table", no_wrap=True)
    for heading in ("rows", "expectations", "not as expected"):
        table.add_column(heading, justify="right")
    for inspected in report.tables:
        broken = Text(str(len(inspected.failures) or "–"), style="red" if inspected.failures else "")
        table.add_row(inspected.relation, f"{inspected.rows:,}", str(inspected.expectations), broken)
    console().print(table)
    console().print(Text(f"pages  {lake.told(report.pages)}"), soft_wrap=True)
