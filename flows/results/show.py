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

from biasgrid.catalogs.choices import Gate
from biasgrid.flows.results.first_screen import Screen
from biasgrid.flows.runs.kinds import AnyKind, find_kind
from biasgrid.flows.runs.outcome import EXITS
from biasgrid.flows.runs.prepare import existing_lake
from biasgrid.flows.runs.run_state import data_option, describe_unfinished
from biasgrid.flows.terminal.console import STYLES, console, readable
from biasgrid.flows.terminal.tables import Column, show_folded
from biasgrid.tasks.report.answer import answer
from biasgrid.tasks.report.examples import worst_examples
from biasgrid.tasks.report.figures import share
from biasgrid.tasks.report.model import Cell, failure_lines
from biasgrid.tasks.report.verdicts import VERDICTS, WORST_FIRST
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


def show_bars(out: Console, findings: Sequence[dict[str, Any]]) -> None:
    """`findings` as of Outcome. A bar is the rate of the requirement that decides; `|` is its tolerance."""
    concerns = sorted({row["concern"] for row in findings})
    if not concerns:
        return
    key = Column("concern", [Text(readable(concern)) for concern in concerns], "left")
    by_model = groupby(sorted(findings, key=itemgetter("model")), key=itemgetter("model"))
    show_folded(out, key, [_column(model, list(own), concerns) for model, own in by_model])
    signs = ", ".join(f"{verdict.sign} {verdict.word}" for verdict in VERDICTS.values())
    out.print(Text(f"█ share that passes, of the requirement that decides, | tolerance, {signs}", style="dim"))
    out.print()


def _column(model: str, own: Sequence[dict[str, Any]], concerns: Sequence[str]) -> Column:
    name = readable(model)
    heading = "\n".join(name[at : at + WIDEST] for at in range(0, len(name), WIDEST))
    of = [[row for row in own if row["concern"] == concern] for concern in concerns]
    return Column(heading, [_bar(rows) for rows in of], "left")


def _bar(rows: Sequence[dict[str, Any]]) -> Text:
    """Of the requirement of a concern that decides."""
    if not rows:
        return Text("")
    one = min(rows, key=lambda row: (WORST_FIRST.index(row["decision"]), (row["rate"] or 0) - row["tolerance"]))
    bar = " " * LENGTH if one["rate"] is None else _draw_bar(one["rate"], one["tolerance"])
    return Text(f"{bar} {share(one['rate']):>6} {VERDICTS[one['decision']].sign}", style=STYLES[one["decision"]])


def _draw_bar(rate: float, tolerance: float) -> str:
    filled = int(rate * LENGTH)
    bar = [*("█" * filled + "·" * (LENGTH - filled))]
    at = min(int(tolerance * LENGTH), LENGTH - 1)
    return "".join([*bar[:at], "|", *bar[at + 1 :]])


def show_run(run: str | None, data: str | Path | None = None, *, every: bool = False) -> None:
    """The first screen of a run, or `every` finding; begins with its state if it has not ended. Raises UserError
    for an unknown run, or where no warehouse has been built."""
    lake = existing_lake(data)
    found = find_run(lake, run)
    notice = describe_unfinished(lake, found)
    if notice:
        console().print(Text(notice, style="yellow"), soft_wrap=True)
        if not (lake.has_database() and query(lake, AGGREGATED, [found.run_id]).item()):
            return
        console().print()
    kind = find_kind(found.kind)
    ended = kind.outcome(lake, found.run_id)
    if every:
        kind.show_stored(ended)
    else:
        show_first_screen(lake, kind, ended)


def show_first_screen(lake: Lake, kind: AnyKind, found: Any, gate: Gate | None = None) -> None:
    """The answer in words; `gate`: and what the exit code by it means."""
    run = find_run(lake, found.run_id)
    lines = [line for section in kind.sections(found) for line in section.lines]
    doubts = [str(line) for line in lines if isinstance(line, Cell) and line.tone == "doubt"]
    lacks = failure_lines(None if run.is_imported else run.run_id, found.failures) if found.incomplete else []
    code = None if gate is None else found.exit_code_by(gate)
    checked = f"Expectations of the warehouse: {found.places['checked']}" if "checked" in found.places else ""
    Screen(
        answer(lake, found.run_id),
        worst_examples(lake, run),
        data_option(lake),
        [*doubts, *(str(line).strip() for line in lacks)],
        " ".join(filter(None, ["" if code is None else f"Exit code {code}: {EXITS[code]}.", checked])),
    ).show(console())
