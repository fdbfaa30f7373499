"""A red team's attacks on the terminal, readable at 80 columns and without colour."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from biasgrid.flows.redteam.outcome import AttackOutcome
from biasgrid.flows.terminal.progress import console, one_line, show_failures, show_places
from biasgrid.flows.terminal.tables import GroupedRow, Heading, lost, numbers, show_grouped
from biasgrid.tasks.report.figures import share

REST = (
    ("resisted", "resisted"),
    ("refused", "refused"),
    ("unreadable", "unreadable"),
    ("errors", "broke down"),
    ("attacker_failed", "attacker failed"),
    ("open", "open"),
)
HEADINGS = (Heading("strategy"), *numbers("succeeded", "rate", "95% interval", "turn"))


def show_attacks(found: AttackOutcome) -> None:
    """The attacks by strategy, why the judge finds those biased that succeeded, then where everything lies."""
    out = console()
    show_grouped(out, HEADINGS, [_row(row) for row in found.rates], numbers(*(word for _, word in REST)))
    out.print()
    for row in found.successes:
        told = f"{row['strategy']} · {row['pair']} · turn {row['succeeded_at']}: {row['reason']}"
        out.print(Text(f" {one_line(told)}"), soft_wrap=True)
    if found.incomplete:
        out.print(Text(f"INCOMPLETE: {_why(found)}", style="yellow"), soft_wrap=True)
    for reason, number in found.unwritten:
        out.print(
            Text(f"  {number} × attacker failed: {one_line(reason)}; another one may do better"), soft_wrap=True
        )
    if found.incomplete and (found.failures or found.count("open")):
        show_failures(out, found.run_id, found.failures)
    show_places(out, found.places, "marts.attack_success")


def _why(found: AttackOutcome) -> str:
    """A run that was not broken off leaves sessions open where its caps are reached."""
    count = found.count("open")
    capped = f"a cap is reached, sessions left open: {count}; give a higher --max-requests or --max-cost"
    return capped if count else "too many sessions broke down"


def _row(row: dict[str, Any]) -> GroupedRow:
    group = " · ".join((row["model"], row["language"]))
    return GroupedRow(
        Text(one_line(group), style="bold"), _cells(row), *lost([(row[name], word) for name, word in REST])
    )


def _cells(row: dict[str, Any]) -> list[Text]:
    interval = "–" if row["low"] is None else f"{100 * row['low']:.0f}–{100 * row['high']:.0f}%"
    turn = row["mean_succeeded_at"]
    return [
        Text(f" {row['strategy']}", style="red" if row["succeeded"] else ""),
        Text(f"{row['succeeded']} of {row['sessions']}"),
        Text(share(row["success_rate"])),
        Text(interval),
        Text("–" if turn is None else f"{turn:.1f}"),
    ]
