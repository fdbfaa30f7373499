"""Prints the forecast and binding caps, and asks for confirmation before a run spends money."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import typer

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.schema.entries import ScenarioSettings
from biasgrid.flows.forecast.benchmark import Forecast
from biasgrid.flows.forecast.view import in_short, judged_in_short
from biasgrid.flows.terminal.console import dollars

THRESHOLD = "BIASGRID_CONFIRM_USD"
CONFIRM_USD = 5.0
"""Expected cost in US dollars above which confirmation is required, unless the environment overrides it."""
CONFIRM_REQUESTS = 1000
"""Requests above which confirmation is required for models with unknown price."""


class Declined(Exception):
    """The user declined the run."""


def announce(
    expected: Forecast, settings: ScenarioSettings, *, is_resumed: bool = False, at_most: bool = False
) -> None:
    """Prints cost and time per model, and caps, on stderr; `at_most`: reused replies are not yet subtracted."""
    for name, model in expected.models.items():
        left = " left" if is_resumed else ""
        typer.echo(f"{name}{left}: {in_short(model)}", err=True)
    if expected.judge:
        typer.echo(f"{expected.judge.model}: {judged_in_short(expected.judge)}", err=True)
    if at_most:
        typer.echo("note: that is at most: replies of earlier runs stand in for what they answer", err=True)
    for note in () if is_resumed or at_most else binding_caps(expected, settings):
        typer.echo(f"note: {note}", err=True)


def binding_caps(expected: Forecast, settings: ScenarioSettings) -> Iterator[str]:
    """Messages for caps that will stop the run early."""
    stops = "the run will stop short, and `biasgrid resume` continues with a higher one"
    cap, cost = settings.max_cost, expected.cost_usd
    if cap is not None and cost is not None and cost > cap:
        yield f"`max_cost` of {dollars(cap)} lies below the {dollars(cost)} that is expected: {stops}"
    if settings.max_requests is not None and expected.requests > settings.max_requests:
        few, many = settings.max_requests, expected.requests
        yield f"`max_requests` of {few:,} lies below the {many:,} requests that are planned: {stops}"


def confirm(expected: Forecast, settings: ScenarioSettings, *, yes: bool, at_most: bool = False) -> None:
    """Asks for confirmation at a terminal if the run is expensive; raises Declined if the answer is no."""
    why = doubt(expected, settings, at_most=at_most)
    if why is None or yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    try:
        agreed = typer.confirm(f"{why} Go on?", err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise Declined


def doubt(expected: Forecast, settings: ScenarioSettings, *, at_most: bool = False) -> str | None:
    """Text to confirm, or None if little is at stake; `at_most`: reused replies are not yet subtracted."""
    cost = sum(model.cost_usd or 0 for model in expected.models.values())
    if settings.max_cost is not None:
        cost = min(cost, settings.max_cost)
    if cost > threshold():
        return f"This is expected to cost {'at most' if at_most else 'about'} {dollars(cost)}."
    unpriced = [model for model in expected.models.values() if model.cost_usd is None]
    requests = sum(model.requests for model in unpriced)
    if min(requests, settings.max_requests or requests) > CONFIRM_REQUESTS:
        return f"{'At most ' if at_most else ''}{requests:,} requests go to models whose price is unknown."
    return None


def threshold() -> float:
    """Confirmation threshold in US dollars; raises UserError if the environment variable is not a number."""
    given = os.environ.get(THRESHOLD, "").strip()
    try:
        return float(given) if given else CONFIRM_USD
    except ValueError:
        what = f"`{given}` is no number of US dollars"
        raise UserError(Problem(what, THRESHOLD, "write one such as `5` or `0.50`")) from None
