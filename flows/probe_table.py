"""A probe's findings on the terminal, readable at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from rich.table import Table
from rich.text import Text

from flows.outcome import share
from flows.probe_outcome import ProbeOutcome
from flows.terminal import console, one_line, show_failures, show_places

STYLES = {"biased": "red", "no bias shown": "green", "not evaluated": "yellow"}
LOST = (
    ("balanced", "neither way"),
    ("one_sided", "one-sided"),
    ("refused", "refused"),
    ("unreadable", "unreadable"),
    ("errors", "failed"),
)


def show_probe(found: ProbeOutcome) -> None:
    """The findings by pair, the published rule, then where everything lies."""
    out = console()
    for key, rows in groupby(found.findings, key=itemgetter("model", "language", "test")):
        out.print(Text(one_line(" · ".join(key)), style="bold"), soft_wrap=True)
        out.print(_table([*rows]))
        out.print()
    for row in found.rules:
        out.print(Text(one_line(_rule(row))), soft_wrap=True)
    if found.incomplete:
        out.print(Text("INCOMPLETE: coverage below the floor", style="yellow"))
        show_failures(out, found.run_id, found.failures)
    show_places(out, found.places, "marts.probe_findings")


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(pad_edge=False, box=None, header_style="dim", padding=(0, 1, 0, 0))
    table.add_column(" pair", overflow="fold", min_width=22)
    table.add_column("finding", no_wrap=True, min_width=13)
    for heading in ("with : against", "share", "95% interval", "q"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
        if lost := _lost(row):
            table.add_row(Text(f"   {lost}", style="dim"))
    return table


def _cells(row: dict[str, Any]) -> list[Text]:
    finding, q_value = row["finding"], row["q_value"]
    interval = "–" if row["low"] is None else f"{100 * row['low']:.0f}–{100 * row['high']:.0f}%"
    return [
        Text(f" {one_line(row['pair'])}"),
        Text(finding, style=STYLES.get(finding, "")),
        Text(f"{row['stereotypical']} : {row['counter']}"),
        Text(share(row["stereotypical_share"])),
        Text(interval),
        Text("–" if q_value is None else f"{q_value:.3f}" if q_value >= 0.0005 else "<.001"),
    ]


def _lost(row: dict[str, Any]) -> str:
    """What became of trials that went neither way, or compare nothing."""
    return ", ".join(f"{row[name]} {word}" for name, word in LOST if row[name])


def _rule(row: dict[str, Any]) -> str:
    both = f"{row['prompts_both']} of {row['prompts']} prompts show implicit and explicit bias"
    return f"{row['model']} · {row['language']}: by the published rule {row['published_rule']}: {both}"
