"""What `plan` shows of an interaction, and what is said before one is sent."""

from __future__ import annotations

import typer
from rich.table import Table
from rich.text import Text

from biasgrid.catalogs.schema.entries import ScenarioSettings
from biasgrid.flows.benchmark.forecast_view import duration, in_short, total_money
from biasgrid.flows.forecast.confirmation import announce
from biasgrid.flows.interaction.forecast import InteractionForecast
from biasgrid.flows.terminal.console import console


def show_interaction_forecast(expected: InteractionForecast) -> None:
    """Plays by setting, then each model, then all of it."""
    out, whole = console(), expected.whole
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("language", "setting", "mitigation"):
        table.add_column(heading, no_wrap=True)
    for heading in ("scenes", "plays", "requests"):
        table.add_column(heading, justify="right", no_wrap=True)
    for cell in whole.by_cell:
        counts = (f"{cell[name]:,}" for name in ("scenes", "plays", "requests"))
        table.add_row(*(str(cell[name]) for name in ("language", "setting", "mitigation")), *counts)
    out.print(table)
    out.print()
    for name, model in whole.models.items():
        out.print(Text(f"{name}: {in_short(model)}"))
    effort = f"about {whole.tokens:,} tokens, {total_money(whole)}, {duration(whole.seconds)}"
    out.print(Text(f"in all: {expected.plays:,} plays, {whole.requests:,} requests; {effort}."))


def announce_interaction(
    expected: InteractionForecast, settings: ScenarioSettings, *, is_resumed: bool = False
) -> None:
    """The forecast in one line a model and, for a whole run, the caps that bind, on stderr."""
    if not is_resumed:
        typer.echo(f"{expected.plays:,} plays of scenes", err=True)
    announce(expected.whole, settings, is_resumed=is_resumed)
