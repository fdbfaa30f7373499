"""Prints the forecast and binding caps, and asks for confirmation before a run spends money."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator

import typer

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.scenario.resolution import Resolved
from biasgrid.catalogs.schema.requirements import ScenarioSettings
from biasgrid.flows.forecast.power import describe_power
from biasgrid.flows.forecast.totals import Forecast
from biasgrid.flows.forecast.view import binding_caps, describe_judge, describe_model
from biasgrid.flows.terminal.console import dollars

THRESHOLD = "BIASGRID_CONFIRM_USD"
CONFIRM_USD = 5.0
"""Expected cost in US dollars above which confirmation is required, unless the environment overrides it."""
CONFIRM_REQUESTS = 1000
"""Requests above which confirmation is required for models with unknown price."""


class Declined(Exception):
    """The user declined the run."""


def print_lines(lines: Iterable[str], notes: Iterable[str]) -> None:
    """Prints a forecast and its notes on stderr."""
    for line in (*lines, *(f"note: {note}" for note in notes)):
        typer.echo(line, err=True)


def announce(expected: Forecast, resolved: Resolved, *, is_resumed: bool = False, at_most: bool = False) -> None:
    """Prints cost and time per model, and caps, on stderr; `at_most`: reused replies are not yet subtracted."""
    print_lines(model_lines(expected, is_resumed=is_resumed), _notes(expected, resolved, is_resumed, at_most))


def model_lines(expected: Forecast, *, is_resumed: bool) -> Iterator[str]:
    for name, model in expected.models.items():
        yield f"{name}{' left' if is_resumed else ''}: {describe_model(model)}"
    if expected.judge:
        yield f"{expected.judge.model}: {describe_judge(expected.judge)}"


def _notes(expected: Forecast, resolved: Resolved, is_resumed: bool, at_most: bool) -> Iterator[str]:
    yield from (*describe_power(expected.power), *expected.cautions, *resolved.notices)
    if at_most:
        yield "that is at most: replies of earlier runs stand in for what they answer"
    elif not is_resumed:
        yield from binding_caps(expected, resolved.settings)


def confirm(expected: Forecast, settings: ScenarioSettings, *, yes: bool, at_most: bool = False) -> None:
    """Asks for confirmation at a terminal if the run is expensive; raises Declined if the answer is no."""
    ask_to_go_on(confirmation_question(expected, settings, at_most=at_most), yes=yes)


def ask_to_go_on(why: str | None, *, yes: bool) -> None:
    """Asks at a terminal, with the reason `why`; raises Declined if the answer is no."""
    if why is None or yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    try:
        agreed = typer.confirm(f"{why} Go on?", err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise Declined


def confirmation_question(expected: Forecast, settings: ScenarioSettings, *, at_most: bool = False) -> str | None:
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
    if given and not re.fullmatch(r"\d+(\.\d*)?|\.\d+", given):
        what = f"`{given}` is no number of US dollars"
        raise UserError(Problem(what, THRESHOLD, "write one such as `5` or `0.50`"))
    return float(given) if given else CONFIRM_USD
