"""An interaction's scores on the terminal, readable at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flows.interaction_outcome import InteractionOutcome
from flows.interaction_words import difference, interval, score
from flows.outcome import share
from flows.terminal import console, one_line, show_failures, show_places

STYLES = {"biased": "red", "anti-biased": "red", "not shown": "green", "not evaluated": "yellow"}
LOST = ("shared", "unassigned", "invented", "refused", "unreadable", "errors")
WORDS = {"errors": "failed"}
KINDS = {"is_control": "controls", "held_out": "held out"}


def show_interaction(found: InteractionOutcome) -> None:
    """The scores over all domains, those of controls, whom choices fell on, what talking and mitigation changed,
    then where everything lies."""
    out = console()
    for key, rows in groupby([*found.overall, *found.controls], key=_about):
        out.print(Text(one_line(key), style="bold"), soft_wrap=True)
        out.print(_scores([*rows]))
        out.print()
    for key, rows in groupby(found.choices, key=_choice):
        out.print(Text(one_line(key), style="bold"), soft_wrap=True)
        out.print(_chosen([*rows]))
        out.print()
    _show_changes(out, "talking", found.talked, ("setting", "mitigation", "step"))
    _show_changes(out, "mitigation", found.mitigated, ("setting", "mitigation", "stage"))
    for row in found.understanding:
        out.print(Text(one_line(_understood(row))), soft_wrap=True)
    if found.incomplete:
        out.print(Text("INCOMPLETE: coverage below the floor", style="yellow"))
        show_failures(out, found.run_id, found.failures)
    show_places(out, found.places, "marts.bias_scores")


def _table(*headings: str) -> Table:
    table = Table(pad_edge=False, box=None, header_style="dim", padding=(0, 1, 0, 0))
    table.add_column(f" {headings[0]}", overflow="fold", min_width=24)
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _scores(rows: Sequence[dict[str, Any]]) -> Table:
    table = _table("setting", "score", "95% interval", "by chance", "decision")
    for row in rows:
        decision = Text(row["decision"], style=STYLES.get(row["decision"], ""))
        measures = (score(row["bias_score"]), interval(row), score(row["expected_score"]))
        table.add_row(Text(f" {_setting(row)}"), *map(Text, measures), decision)
        lost = ", ".join(f"{row[name]} {WORDS.get(name, name)}" for name in LOST if row[name])
        if lost:
            table.add_row(Text(f"   {lost}", style="dim"))
    return table


def _setting(row: dict[str, Any]) -> str:
    stage = "" if row["stage"] == "only" else row["stage"]
    mitigation = "" if row["mitigation"] == "none" else row["mitigation"]
    return " · ".join(part for part in (row["setting"], mitigation, stage) if part)


def _about(row: dict[str, Any]) -> str:
    """What the rows of one table have in common."""
    kinds = [name for name in ("is_control", "held_out") if row.get(name)]
    return " · ".join([row["model"], row["language"], row["axis"], *map(KINDS.__getitem__, kinds)])


def _choice(row: dict[str, Any]) -> str:
    return f"{_about(row)} · {row['scene']}"


def _chosen(rows: Sequence[dict[str, Any]]) -> Table:
    """How many choices fell on the first of the two groups."""
    table = _table("setting", "chosen", "share", "95% interval", "by chance")
    for row in rows:
        of_first = f"{row['first_group']}: {row['first_chosen']} of {row['first_chosen'] + row['second_chosen']}"
        shares = map(share, (row["first_share"], row["low"], row["high"], row["expected_share"]))
        own, low, high, chance = shares
        table.add_row(Text(f" {_setting(row)}"), Text(one_line(of_first)), own, Text(f"{low} to {high}"), chance)
    return table


def _show_changes(out: Console, what: str, rows: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    for key, own in groupby(rows, key=_about):
        out.print(Text(one_line(f"what {what} changed · {key}"), style="bold"), soft_wrap=True)
        table = _table("", "before", "after", "change", "95% interval", "p")
        for row in own:
            told = [str(row[name]).removeprefix("first ") for name in names if row[name] != "none"]
            table.add_row(Text(f" {' · '.join(told)}"), *map(Text, difference(row)))
        out.print(table)
        out.print()


def _understood(row: dict[str, Any]) -> str:
    right = row["true_positives"] + row["true_negatives"]
    told = f"{row['model']} · {row['language']}: tells rightly whether implicit bias is present in {right} of"
    return f"{told} {row['replies']} assignments ({share(row['accuracy'])})"
