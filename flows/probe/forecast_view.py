"""What `plan` shows of a probe, and what is said before one is sent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from biasgrid.catalogs.schema.entries import ScenarioSettings
from biasgrid.flows.benchmark.forecast_view import duration, in_short, tokens_told, total_money
from biasgrid.flows.forecast.confirmation import binding_caps
from biasgrid.flows.probe.forecast import ProbeForecast
from biasgrid.flows.terminal.console import console


def show_probe_forecast(expected: ProbeForecast) -> None:
    """Prompts by language and axis, then each model, then all of it."""
    out, whole = console(), expected.whole
    _show_tests(out, expected)
    for name, model in whole.models.items():
        out.print(Text(f"{name}: {in_short(model)}"))
        out.print(Text(f"  {tokens_told(model)}", style="dim"))
    for note in notes(expected):
        out.print(Text(note))
    effort = f"about {whole.tokens:,} tokens, {total_money(whole)}, {duration(whole.seconds)}"
    out.print(Text(f"in all: {whole.instances:,} prompts, {whole.requests:,} requests, {effort}."))


def notes(expected: ProbeForecast) -> Iterator[str]:
    """What the figures of the models do not tell."""
    if expected.conditional:
        left, whole = expected.conditional, expected.whole.requests
        yield f"that is at most: {left:,} of the {whole:,} requests follow only where implicit bias shows"
    if expected.generator and expected.generated_by:
        requests = f"{expected.generator.requests} request{'s' if expected.generator.requests > 1 else ''}"
        told = in_short(expected.generator).partition(", ")[2]
        yield f"{expected.generated_by} proposes the pairs: {requests}, {told}"


def announce_probe(expected: ProbeForecast, settings: ScenarioSettings, *, is_resumed: bool = False) -> None:
    """The forecast in one line a model and, for a whole run, the caps that lie below what is sure, on stderr."""
    for name, model in expected.whole.models.items():
        typer.echo(f"{name}{' left' if is_resumed else ''}: {in_short(model)}", err=True)
    told = [*notes(expected), *(() if is_resumed else binding_caps(expected.sure, settings))]
    for note in told:
        typer.echo(f"note: {note}", err=True)


def _show_tests(out: Console, expected: ProbeForecast) -> None:
    cells = expected.whole.by_cell
    tests = list(dict.fromkeys(str(cell["test"]) for cell in cells))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("language", no_wrap=True)
    table.add_column("axis", overflow="fold")
    for heading in ("pairs", *tests):
        table.add_column(heading, justify="right", no_wrap=True)
    by = itemgetter("language", "axis")
    for (language, axis), found in groupby(sorted(cells, key=by), key=by):
        own = {str(cell["test"]): cell for cell in found}
        pairs = max(int(str(cell["pairs"])) for cell in own.values())
        prompts = (f"{own[test]['prompts']:,}" if test in own else "–" for test in tests)
        table.add_row(language, Text(axis), f"{pairs:,}", *prompts)
    out.print(table)
    out.print()
