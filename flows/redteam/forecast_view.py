"""What `plan` shows of a red team, and what is said before one is sent."""

from __future__ import annotations

from collections.abc import Iterator

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from biasgrid.catalogs.scenario.attack_target import ResolvedAttack
from biasgrid.catalogs.schema.entries import ScenarioSettings
from biasgrid.flows.benchmark.forecast_view import duration, total_money
from biasgrid.flows.forecast.confirmation import binding_caps
from biasgrid.flows.forecast.model import ModelForecast
from biasgrid.flows.redteam.forecast import AttackForecast, PartForecast
from biasgrid.flows.terminal.console import console, dollars


def show_attack_forecast(expected: AttackForecast, resolved: ResolvedAttack) -> None:
    """Messages by language and strategy, then each model in its parts, then all of it."""
    out, whole = console(), expected.resisted
    _show_strategies(out, expected)
    for part in expected.parts:
        out.print(Text(told(part)))
        out.print(Text(f"  {_tokens(part.resisted)}", style="dim"))
    for note in notes(expected, resolved):
        out.print(Text(note))
    spread = _spread(expected.least.requests, whole.requests, expected.most.requests)
    effort = f"about {whole.tokens:,} tokens, {_whole_money(expected)}, {duration(whole.seconds)}"
    out.print(Text(f"in all: {expected.sessions:,} sessions, {spread}; {effort}."))


def told(part: PartForecast) -> str:
    """What a model is asked in one part, its money and its time, in one line."""
    spread = _spread(part.least.requests, part.resisted.requests, part.most.requests)
    time = duration(part.resisted.seconds) if part.resisted.seconds else ""
    return ", ".join(filter(None, (f"{part.model}, the {part.part}: {spread}", _money(part), time)))


def told_left(part: PartForecast) -> str:
    """As `told`, of a run that goes on: how its open sessions stand is not looked into."""
    return f"{part.model}, the {part.part}, left: at most {part.most.requests:,} requests, {_money(part)}"


def notes(expected: AttackForecast, resolved: ResolvedAttack) -> Iterator[str]:
    """What the figures of the models do not tell."""
    yield from resolved.notices
    limits = resolved.file.redteam
    again = f"{limits.attacker_retries} more attempts at a message, {limits.judge_retries} at a verdict"
    yield "`about`: no attack succeeds, and nobody is asked twice for the same"
    if expected.most.requests > expected.resisted.requests:
        yield f"`at most`: everything as long as it may be, with {again}"


def announce_attack(expected: AttackForecast, resolved: ResolvedAttack, *, is_resumed: bool = False) -> None:
    """The forecast in one line a model and part and, for a whole run, the caps that bind, on stderr."""
    for part in expected.parts:
        typer.echo(told_left(part) if is_resumed else told(part), err=True)
    said = resolved.notices if is_resumed else [*notes(expected, resolved), *_caps(expected, resolved.settings)]
    for note in said:
        typer.echo(f"note: {note}", err=True)


def _caps(expected: AttackForecast, settings: ScenarioSettings) -> Iterator[str]:
    """Those that stop the run whatever comes back; else those that do unless attacks succeed."""
    certain = list(binding_caps(expected.least, settings))
    yield from certain or (f"if no attack succeeds: {cap}" for cap in binding_caps(expected.resisted, settings))


def _spread(least: int, resisted: int, most: int) -> str:
    if least == most:
        return f"{most:,} requests"
    about = f" (about {resisted:,})" if least < resisted < most else ""
    return f"{least:,} to {most:,} requests{about}"


def _money(told: PartForecast | AttackForecast) -> str:
    about, most = told.resisted.cost_usd, told.most.cost_most_usd
    if about is None or most is None:
        return "price unknown"
    return f"about {dollars(about)}, at most {dollars(most)}" if most else "free"


def _whole_money(expected: AttackForecast) -> str:
    """Of all models together, as far as their prices are known."""
    return total_money(expected.resisted) if expected.most.cost_usd is None else _money(expected)


def _tokens(model: ModelForecast) -> str:
    grounds = f"as in {model.output_seen:,} earlier replies" if model.output_seen else "assumed"
    return f"about {model.input_tokens:,} tokens in, {model.output_tokens:,} out ({grounds})"


def _show_strategies(out: Console, expected: AttackForecast) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("language", no_wrap=True)
    table.add_column("strategy", no_wrap=True)
    for heading in ("sessions", "messages: least", "most"):
        table.add_column(heading, justify="right", no_wrap=True)
    for cell in expected.by_cell:
        counts = (f"{cell[name]:,}" for name in ("sessions", "least_messages", "most_messages"))
        table.add_row(cell["language"], cell["strategy"], *counts)
    out.print(table)
    out.print()
