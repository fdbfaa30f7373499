"""The terminal: progress per model, findings and rows, readable at 80 columns and without colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import polars as pl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from biasgrid.catalogs.text_safety import escape, escape_line
from biasgrid.flows.terminal.encoding import write_data
from biasgrid.tasks.report.figures import format_count
from biasgrid.warehouse.queries.example_queries import worked_queries
from biasgrid.warehouse.storage.export_files import as_csv
from biasgrid.warehouse.storage.runs import Run

STYLES = {"met": "green", "not met": "red", "undecided": "yellow", "not evaluated": "yellow"}


def console() -> Console:
    return Console()


def dollars(amount: float) -> str:
    """US dollars, to the cent or, below ten cents, to two digits."""
    return f"${amount:,.2f}" if amount >= 0.1 or not amount else f"${amount:.2g}" if amount >= 1e-4 else "<$0.0001"


class RunProgress:
    """One bar per model while a run lasts; on a terminal only. Told of every answer."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[outcomes]}", markup=False),
            TimeRemainingColumn(compact=True),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self.run_id: str | None = None
        """Known when the first prompt may be sent."""
        self._preparing = TaskID(0)
        self._bars: dict[str, TaskID] = {}
        self._outcomes: dict[str, Counter[str]] = {}
        self._spent: dict[str, float] = {}
        self._stopped: dict[str, str] = {}
        self._waits: set[str] = set()

    def __enter__(self) -> RunProgress:
        self._progress.start()
        self._preparing = self._progress.add_task(
            "preparing: Prefect takes some seconds to start", total=None, outcomes=""
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
        for model, counts in self._outcomes.items():
            told = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
            self._console.print(Text(f"{one_line(model)}: {told}{self._money(model)}"), soft_wrap=True)

    @property
    def how_to_go_on(self) -> str:
        """What a person who stops the run now should know."""
        if self.run_id is None:
            return "nothing was sent"
        return f"what arrived is kept: go on with `biasgrid resume {self.run_id}`"

    def planned(self, run_id: str, requests: dict[str, int]) -> None:
        """The run's id and how many cases each model is asked; again for each further stage."""
        total = sum(requests.values())
        models = "1 model" if len(requests) == 1 else f"{len(requests)} models"
        more = " more" if self.run_id else ""
        self._console.print(f"run {run_id}: {total:,}{more} prompts to {models}", highlight=False)
        if self.run_id is None:
            self._progress.remove_task(self._preparing)
        self.run_id = run_id
        for model, count in requests.items():
            self._ask(model, count)

    def _ask(self, model: str, count: int) -> None:
        """A bar, or a longer one where a run has a second stage."""
        if model in self._bars:
            done = self._progress.tasks[self._progress.task_ids.index(self._bars[model])]
            self._progress.update(self._bars[model], total=(done.total or 0) + count)
            return
        self._outcomes[model] = Counter()
        self._bars[model] = self._progress.add_task(one_line(model), total=count, outcomes="")

    def landed(self, model: str, outcome: str, cost_usd: float | None = None) -> None:
        """`answered`, `kept` from before, `reused` or `failed`, and what it cost where that is known."""
        counts = self._outcomes[model]
        counts[outcome] += 1
        self._spent[model] = self._spent.get(model, 0.0) + (cost_usd or 0.0)
        told = "  ".join(f"{counts[name]} {name}" for name in ("failed", "kept", "reused") if counts[name])
        self._progress.update(self._bars[model], advance=1, outcomes=f"{told}{self._money(model)}")

    def stopped(self, model: str, why: str) -> None:
        """A model is asked no more; said once, whichever of its cells tells first."""
        if model not in self._stopped:
            self._stopped[model] = why
            self._console.print(Text(one_line(f"{model} is stopped: {why}"), style="yellow"), soft_wrap=True)

    def waiting(self, why: str) -> None:
        """Nothing goes on for a while; said once."""
        if why not in self._waits:
            self._waits.add(why)
            self._console.print(Text(readable(why), style="yellow"), soft_wrap=True)

    def _money(self, model: str) -> str:
        spent = self._spent.get(model)
        return f"  {dollars(spent)}" if spent else ""


def show_failures(out: Console, run_id: str, failures: Sequence[tuple[str, int]]) -> None:
    """Why replies lack, and how to go on."""
    for reason, count in failures:
        out.print(Text(f"  {count} × {one_line(reason)}"), soft_wrap=True)
    out.print(Text(f"  go on with: biasgrid resume {run_id}"))


def show_places(out: Console, places: Mapping[str, Path | str], mart: str) -> None:
    """Where everything lies, and what to ask first."""
    for name, path in places.items():
        out.print(Text(f"{name:<11}{one_line(path)}"), soft_wrap=True)
    out.print(Text(f'ask it     biasgrid sql "from {mart}"'), soft_wrap=True)


def show_runs(runs: Sequence[Run]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("run", "state", "kind", "started (UTC)", "seconds"):
        table.add_column(heading, no_wrap=True)
    for run in runs:
        seconds = f"{(run.ended_at - run.started_at).total_seconds():.0f}" if run.ended_at else "–"
        told = (run.run_id, run.state, run.kind, f"{run.started_at:%Y-%m-%d %H:%M:%S}", seconds)
        table.add_row(*(Text(one_line(cell)) for cell in told))
    console().print(table if runs else "no run yet: start one with `biasgrid run SCENARIO`")


def show_examples() -> None:
    """The queries that come along, each with what it answers."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("example", no_wrap=True)
    table.add_column("answers")
    for query in worked_queries().values():
        table.add_row(Text(query.name), Text(query.question))
    console().print(table)


def show_rows(rows: pl.DataFrame, kind: str) -> None:
    """Rows of a query as `table`, `csv` (text that a spreadsheet would run is defused) or `json`."""
    if kind == "csv":
        write_data(as_csv(rows))
    elif kind == "json":
        write_data(rows.write_json() + "\n")
    else:
        _show_table(rows)


WIDE = 8
"""More columns than this are shown as one block a row."""


def _show_table(rows: pl.DataFrame) -> None:
    out = console()
    if len(rows.columns) > WIDE:
        for place, row in enumerate(rows.iter_rows(named=True), 1):
            block = Table(box=None, pad_edge=False, show_header=False, title=f"row {place}", title_justify="left")
            for name, value in row.items():
                block.add_row(Text(readable(name), style="bold"), Text(readable(value), overflow="fold"))
            out.print(block)
    else:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name, dtype in rows.schema.items():
            table.add_column(
                Text(readable(name)), justify="right" if dtype.is_numeric() else "left", overflow="fold"
            )
        for values in rows.iter_rows():
            table.add_row(*(Text(readable(value)) for value in values))
        out.print(table)
    out.print(Text(f"({format_count(rows.height, 'row')})"))


def readable(value: object) -> str:
    """A value as a person reads it, on however many lines; nothing in it steers the terminal."""
    if value is None:
        return "–"
    told = f"{value:.4f}" if isinstance(value, float) else str(value)
    return escape(told)


def one_line(value: object) -> str:
    """`readable` on one line: tabs and line breaks are escaped too."""
    return escape_line(readable(value))
