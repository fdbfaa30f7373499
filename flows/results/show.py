"""Findings of a run on the terminal, with bars of how much each model passes, and the table of expectations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from biasgrid.flows.runs.kinds import find_kind
from biasgrid.flows.runs.prepare import existing_lake
from biasgrid.flows.runs.run_state import describe_unfinished
from biasgrid.flows.terminal.console import STYLES, console, readable
from biasgrid.flows.terminal.tables import Column, show_folded
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.expectations.report import Report
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import find_run


def patience(what: str) -> Status:
    """A spinner on a terminal while something takes its time."""
    return console(stderr=True).status(Text(what))


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
    console().print(Text(f"pages  {lake.display_path(report.pages)}"), soft_wrap=True)


AGGREGATED: Final = "select count(*) from marts.runs where run_id = ?"
LENGTH: Final = 12
"""Signs of a full bar."""
WIDEST: Final = 22
"""Signs of a line of a model's name: one below another."""
SYMBOLS: Final = {"met": "✓", "not met": "✗", "not evaluated": "–"}


def show_bars(out: Console, findings: Sequence[dict[str, Any]]) -> None:
    """`findings` as of Outcome. A bar is the lowest rate of a concern's requirements; `|` is its tolerance."""
    concerns = sorted({row["concern"] for row in findings})
    if not concerns:
        return
    key = Column("concern", [Text(readable(concern)) for concern in concerns], "left")
    by_model = groupby(sorted(findings, key=itemgetter("model")), key=itemgetter("model"))
    show_folded(out, key, [_column(model, list(own), concerns) for model, own in by_model])
    out.print(
        Text(
            "█ share that passes, lowest of a concern, | tolerance, ✓ met, ✗ not met, – not evaluated", style="dim"
        )
    )
    out.print()


def _column(model: str, own: Sequence[dict[str, Any]], concerns: Sequence[str]) -> Column:
    name = readable(model)
    heading = "\n".join(name[at : at + WIDEST] for at in range(0, len(name), WIDEST))
    of = [[row for row in own if row["concern"] == concern] for concern in concerns]
    return Column(heading, [_bar(rows) for rows in of], "left")


def _bar(rows: Sequence[dict[str, Any]]) -> Text:
    """Of the requirement of a concern with the lowest rate."""
    rated = [row for row in rows if row["rate"] is not None]
    if not rated:
        return Text(f"{'':{LENGTH}}    – –" if rows else "", style=STYLES["not evaluated"])
    lowest = min(rated, key=itemgetter("rate"))
    finding = _worst([row["point_finding"] for row in rows])
    bar = _draw_bar(lowest["rate"], lowest["tolerance"])
    return Text(f"{bar} {lowest['rate']:>4.0%} {SYMBOLS[finding]}", style=STYLES[finding])


def _draw_bar(rate: float, tolerance: float) -> str:
    filled = int(rate * LENGTH)
    bar = [*("█" * filled + "·" * (LENGTH - filled))]
    at = min(int(tolerance * LENGTH), LENGTH - 1)
    return "".join([*bar[:at], "|", *bar[at + 1 :]])


def _worst(found: Sequence[str]) -> str:
    return next(name for name in ("not met", "not evaluated", "met") if name in found)


def show_run(run: str | None, data: str | Path | None = None) -> None:
    """What a run found; begins with its state if it has not ended. Raises UserError for an unknown run, or where
    no warehouse has been built."""
    lake = existing_lake(data)
    found = find_run(lake, run)
    notice = describe_unfinished(lake, found)
    if notice:
        console().print(Text(notice, style="yellow"), soft_wrap=True)
        if not (lake.has_database() and query(lake, AGGREGATED, [found.run_id]).item()):
            return
        console().print()
    kind = find_kind(found.kind)
    kind.show_stored(kind.outcome(lake, found.run_id))
