"""An interaction's scores on the terminal, readable at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from biasgrid.flows.interaction.formatting import difference, interval
from biasgrid.flows.interaction.outcome import InteractionOutcome
from biasgrid.flows.terminal.progress import console, one_line, show_failures, show_places
from biasgrid.flows.terminal.tables import GroupedRow, Heading, lost, numbers, show_grouped
from biasgrid.tasks.report.figures import share, signed

STYLES = {"biased": "red", "anti-biased": "red", "not shown": "green", "not evaluated": "yellow"}
LOST = ("shared", "unassigned", "invented", "refused", "unreadable", "errors")
WORDS = {"errors": "failed"}
SCORES = (Heading("setting"), *numbers("score", "95% interval", "by chance"), Heading("decision"))
CHOSEN = (Heading("setting"), *numbers("chosen", "share", "95% interval", "by chance"))
CHANGES = (Heading("setting"), *numbers("before", "after", "change", "95% interval", "p"))
KINDS = {"is_control": "controls", "held_out": "held out"}


def show_interaction(found: InteractionOutcome) -> None:
    """The scores over all domains, those of controls, whom choices fell on, what talking and mitigation changed,
    then where everything lies."""
    out = console()
    for headings, rows, more in (
        (SCORES, [_score(row) for row in (*found.overall, *found.controls)], LOST),
        (CHOSEN, [_chosen(row) for row in found.choices], ()),
    ):
        if rows:
            show_grouped(out, headings, rows, numbers(*map(_word, more)))
            out.print()
    _show_changes(out, "talking", found.talked, ("setting", "mitigation", "step"))
    _show_changes(out, "mitigation", found.mitigated, ("setting", "mitigation", "stage"))
    for row in found.understanding:
        out.print(Text(one_line(_understood(row))), soft_wrap=True)
    if found.incomplete:
        out.print(Text("INCOMPLETE: coverage below the floor", style="yellow"))
        show_failures(out, found.run_id, found.failures)
    show_places(out, found.places, "marts.bias_scores")


def _score(row: dict[str, Any]) -> GroupedRow:
    measures = (signed(row["bias_score"]), interval(row), signed(row["expected_score"]))
    decision = Text(row["decision"], style=STYLES.get(row["decision"], ""))
    cells = [Text(f" {_setting(row)}"), *map(Text, measures), decision]
    return GroupedRow(_group(_about(row)), cells, *lost([(row[name], _word(name)) for name in LOST]))


def _group(told: str) -> Text:
    return Text(one_line(told), style="bold")


def _word(name: str) -> str:
    return WORDS.get(name, name)


def _setting(row: dict[str, Any]) -> str:
    stage = "" if row["stage"] == "only" else row["stage"]
    mitigation = "" if row["mitigation"] == "none" else row["mitigation"]
    return " · ".join(part for part in (row["setting"], mitigation, stage) if part)


def _about(row: dict[str, Any]) -> str:
    """What the rows of one table have in common."""
    kinds = [name for name in ("is_control", "held_out") if row.get(name)]
    return " · ".join([row["model"], row["language"], row["axis"], *map(KINDS.__getitem__, kinds)])


def _chosen(row: dict[str, Any]) -> GroupedRow:
    """How many choices fell on the first of the two groups."""
    of_first = f"{row['first_group']}: {row['first_chosen']} of {row['first_chosen'] + row['second_chosen']}"
    own, low, high, chance = map(share, (row["first_share"], row["low"], row["high"], row["expected_share"]))
    told = (f" {_setting(row)}", one_line(of_first), own, f"{low} to {high}", chance)
    return GroupedRow(_group(f"{_about(row)} · {row['scene']}"), [*map(Text, told)])


def _show_changes(out: Console, what: str, rows: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    if rows:
        show_grouped(out, CHANGES, [_change(row, what, names) for row in rows])
        out.print()


def _change(row: dict[str, Any], what: str, names: Sequence[str]) -> GroupedRow:
    told = [str(row[name]).removeprefix("first ") for name in names if row[name] != "none"]
    group = _group(f"what {what} changed · {_about(row)}")
    return GroupedRow(group, [Text(f" {' · '.join(told)}"), *map(Text, difference(row))])


def _understood(row: dict[str, Any]) -> str:
    right = row["true_positives"] + row["true_negatives"]
    told = f"{row['model']} · {row['language']}: tells rightly whether implicit bias is present in {right} of"
    return f"{told} {row['replies']} assignments ({share(row['accuracy'])})"
