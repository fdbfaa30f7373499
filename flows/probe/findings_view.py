"""A probe's findings on the terminal, readable at 80 columns and without colour."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from biasgrid.flows.interaction.formatting import p_value
from biasgrid.flows.probe.outcome import ProbeOutcome
from biasgrid.flows.terminal.progress import console, one_line, show_failures, show_places
from biasgrid.flows.terminal.tables import GroupedRow, Heading, lost, numbers, show_grouped
from biasgrid.tasks.report.figures import share

STYLES = {"biased": "red", "no bias shown": "green", "not evaluated": "yellow"}
LOST = (
    ("balanced", "neither way"),
    ("one_sided", "one-sided"),
    ("refused", "refused"),
    ("unreadable", "unreadable"),
    ("errors", "failed"),
)
HEADINGS = (Heading("pair"), Heading("finding"), *numbers("with : against", "share", "95% interval", "q"))


def show_probe(found: ProbeOutcome) -> None:
    """The findings by pair, the published rule, then where everything lies."""
    out = console()
    show_grouped(out, HEADINGS, [_row(row) for row in found.findings], numbers(*(word for _, word in LOST)))
    out.print()
    for row in found.rules:
        out.print(Text(one_line(_rule(row))), soft_wrap=True)
    if found.incomplete:
        out.print(Text("INCOMPLETE: coverage below the floor", style="yellow"))
        show_failures(out, found.run_id, found.failures)
    show_places(out, found.places, "marts.probe_findings")


def _row(row: dict[str, Any]) -> GroupedRow:
    """What became of trials that went neither way, or compare nothing, stands beside or below."""
    group = " · ".join((row["model"], row["language"], row["test"]))
    return GroupedRow(
        Text(one_line(group), style="bold"), _cells(row), *lost([(row[name], word) for name, word in LOST])
    )


def _cells(row: dict[str, Any]) -> list[Text]:
    finding = row["finding"]
    interval = "–" if row["low"] is None else f"{100 * row['low']:.0f}–{100 * row['high']:.0f}%"
    return [
        Text(f" {one_line(row['pair'])}"),
        Text(finding, style=STYLES.get(finding, "")),
        Text(f"{row['stereotypical']} : {row['counter']}"),
        Text(share(row["stereotypical_share"])),
        Text(interval),
        Text(p_value(row["q_value"])),
    ]


def _rule(row: dict[str, Any]) -> str:
    both = f"{row['prompts_both']} of {row['prompts']} prompts show implicit and explicit bias"
    return f"{row['model']} · {row['language']}: by the published rule {row['published_rule']}: {both}"
