"""What a benchmark found, on the terminal: readable at 80 columns and without colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from biasgrid.flows.runs.outcome import Outcome, need
from biasgrid.flows.terminal.progress import STYLES, console, one_line, show_failures, show_places
from biasgrid.flows.terminal.tables import GroupedRow, Heading, numbers, show_grouped
from biasgrid.tasks.report.figures import share

HEADINGS: Final = (
    Heading("requirement"),
    Heading("point"),
    Heading("decision"),
    *numbers("passed", "need", "refused", "cells"),
)
MORE: Final = (
    *numbers("tests", "mean", "95% interval"),
    Heading("language"),
    *numbers("templates", "needed"),
)
"""Where the terminal is wide: tests that count, then what the decision goes by."""


def show_outcome(found: Outcome) -> None:
    """The findings table, then where everything lies."""
    out = console()
    show_grouped(out, HEADINGS, [_row(row) for row in found.findings], MORE)
    out.print()
    _show_end(out, found)


def _row(row: dict[str, Any]) -> GroupedRow:
    below = _why_undecided(row)
    return GroupedRow(
        Text(one_line(row["model"]), style="bold"),
        _cells(row),
        [*map(Text, _grounds(row))],
        Text(f"   {below}", style="dim") if below else None,
    )


def _cells(row: dict[str, Any]) -> list[Text]:
    finding, decision = row["point_finding"], row["decision"]
    return [
        Text(f" {one_line(row['requirement'])}"),
        Text(finding, style=STYLES.get(finding, "")),
        Text("–" if decision == "not evaluated" else decision, style=STYLES.get(decision, "")),
        Text(share(row["point_rate"])),
        Text(f"{100 * row['tolerance']:g}%"),
        Text(share(row["refusal_rate"])),
        Text(f"{row['cells_met']}/{row['cells']}"),
    ]


def _grounds(row: dict[str, Any]) -> Iterator[str]:
    """What MORE tells."""
    needed, templates = row["templates_needed"], row["counted_templates"]
    yield f"{row['counted_tests'] or 0:,}"
    yield share(row["macro_rate"])
    yield _interval(row) or "–"
    yield one_line(row["worst_language"])
    yield "–" if templates is None else f"{templates:,}"
    yield "–" if needed is None else f"≥ {needed:,}"


def _interval(row: dict[str, Any]) -> str:
    low, high = row["interval_low"], row["interval_high"]
    return "" if low is None or high is None else f"{100 * low:.1f}–{100 * high:.1f}%"


def _why_undecided(row: dict[str, Any]) -> str:
    """Where the interval lies that spans the tolerance, and what would decide it."""
    if row["decision"] != "undecided":
        return ""
    language = one_line(row["worst_language"])
    where = f"95% interval of the mean: {_interval(row)} in {language}" if _interval(row) else ""
    return "; ".join(part for part in (where, need(row)) if part)


def _show_end(out: Console, found: Outcome) -> None:
    out.print(Text(f"{_counted(found, 'point_finding')} of {len(found.findings)} requirement × model"))
    out.print(Text(f"decided by 95% intervals: {_counted(found, 'decision')}"))
    if found.decided:
        out.print(Text(_decisions(found)), soft_wrap=True)
    for judge in found.silent_judges:
        out.print(Text(one_line(_silent(judge)), style="yellow"), soft_wrap=True)
    if found.incomplete:
        short = [row for row in found.findings if not row["is_complete"]]
        lack = (
            f"coverage below the floor for {len(short)} of them" if short else "a judge left questions unanswered"
        )
        out.print(Text(f"INCOMPLETE: {lack}", style="yellow"))
        show_failures(out, found.run_id, found.failures)
    show_places(out, found.places, "marts.pass_rates")


def _decisions(found: Outcome) -> str:
    verdicts = "1 verdict is" if found.decided == 1 else f"{found.decided:,} verdicts are"
    told = f"{verdicts} a person's decision, {found.overridden:,} of them other than what stood before: "
    return told + 'biasgrid sql "from intermediate.int_decisions"'


def _silent(judge: dict[str, Any]) -> str:
    why = ", ".join(f"{judge[name]:,} {name}" for name in ("refused", "unreadable", "failed") if judge[name])
    lack = judge["asked"] - judge["n"]
    return f"the judge {judge['assessor']} gave no verdict on {lack:,} of {judge['asked']:,} replies: {why}"


def _counted(found: Outcome, column: str) -> str:
    count = Counter(row[column] for row in found.findings)
    return ", ".join(f"{count[name]} {name}" for name in STYLES if count[name])
