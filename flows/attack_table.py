"""A red team's attacks on the terminal, readable at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from rich.table import Table
from rich.text import Text

from flows.attack_outcome import AttackOutcome
from flows.outcome import share
from flows.terminal import console, one_line, show_failures, show_places

REST = (
    ("resisted", "resisted"),
    ("refused", "refused"),
    ("unreadable", "unreadable"),
    ("errors", "broke down"),
    ("attacker_failed", "attacker failed"),
    ("open", "open"),
)


def show_attacks(found: AttackOutcome) -> None:
    """The attacks by strategy, why the judge finds those biased that succeeded, then where everything lies."""
    out = console()
    for key, rows in groupby(found.rates, key=itemgetter("model", "language")):
        out.print(Text(one_line(" · ".join(key)), style="bold"), soft_wrap=True)
        out.print(_table([*rows]))
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


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(pad_edge=False, box=None, header_style="dim", padding=(0, 1, 0, 0))
    table.add_column(" strategy", no_wrap=True, min_width=20)
    for heading in ("succeeded", "rate", "95% interval", "turn"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
        rest = ", ".join(f"{row[name]} {word}" for name, word in REST if row[name])
        if rest:
            table.add_row(Text(f"   {rest}", style="dim"))
    return table


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
