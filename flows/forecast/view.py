"""Renders `plan`: requests by requirement, language and cell, and their cost."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from biasgrid.catalogs.scenario.resolution import Resolved
from biasgrid.catalogs.schema.requirements import ScenarioSettings
from biasgrid.flows.forecast.model import JudgeForecast, ModelForecast
from biasgrid.flows.forecast.power import MET, NOT_MET, Power, describe_lacks, undecidable
from biasgrid.flows.forecast.reply_estimates import REPLY_TOKENS, THINKING_TOKENS
from biasgrid.flows.forecast.totals import Forecast
from biasgrid.flows.terminal.console import dollars
from biasgrid.flows.terminal.tables import show_sections
from biasgrid.tasks.report.model import Cell, Row, Section, Table, Text, headings, numbers

MANY_CELLS = 40
"""Maximum number of cells listed individually."""


FEW_CELLS = 5
"""Maximum number of cells named that a cap leaves out."""


def binding_caps(expected: Forecast, settings: ScenarioSettings) -> Iterator[str]:
    """Messages for caps that will stop the run early, and the cells that they leave out."""
    stops = "the run will stop short, and `biasgrid resume` continues with a higher one"
    cap, cost = settings.max_cost, expected.cost_usd
    if cap is not None and cost is not None and cost > cap:
        yield f"`max_cost` of {dollars(cap)} is below the {dollars(cost)} that is expected: {stops}"
    if settings.max_requests is not None and expected.requests > settings.max_requests:
        few, many = settings.max_requests, expected.requests
        yield f"`max_requests` of {few:,} is below the {many:,} requests that are planned: {stops}"
    alike: dict[tuple[str, ...], list[str]] = {}
    for model, cells in expected.left_out.items():
        alike.setdefault(tuple(cells), []).append(model)
    for lacking, models in alike.items():
        more = f" and {len(lacking) - FEW_CELLS} more" if len(lacking) > FEW_CELLS else ""
        yield f"{', '.join(models)} will lack {', '.join(lacking[:FEW_CELLS])}{more}"


def show_forecast(expected: Forecast, resolved: Resolved) -> None:
    """Prints the grid, each model and the total."""
    notes: list[Text] = []
    if len(expected.by_cell) > MANY_CELLS:
        notes.append(f"{len(expected.by_cell):,} cells of input and reflection: `--format json` has every one.")
    for name, model in expected.models.items():
        notes += [f"{name}: {describe_model(model)}", Cell(f"  {describe_tokens(model)}", "faint")]
    if expected.judge:
        notes.append(f"{expected.judge.model}: {describe_judge(expected.judge)}")
    repeats = expected.instances * len(expected.models) != expected.requests
    total = f"in all: {expected.instances:,} instances, {expected.requests:,} requests"
    effort = f"about {expected.tokens:,} tokens, {total_money(expected)}, {_total_time(expected)}"
    once = "; what several requirements ask alike is sent once" if repeats else ""
    notes += [f"{total}, {effort}{once}.", Cell(_grounds(expected), "faint")]
    notes += [*binding_caps(expected, resolved.settings), "Nothing was sent."]
    show_sections([Section(table=_grid(expected.by_cell)), *power_sections(expected), Section(notes=notes)])


def power_sections(expected: Forecast) -> Iterator[Section]:
    """How likely each requirement is decided in each language, and what is missing where it cannot be."""
    if expected.power:
        lacks = [f"can never be met; {lack}" for lack in describe_lacks(undecidable(expected.power))]
        warnings = [Cell(text, "doubt") for text in (*lacks, *expected.cautions)]
        yield Section("Decided with what chance", _power_table(expected.power), notes=[POWER, *warnings])


POWER = Cell(
    "A template and its twin are one; with fewer than it needs it is never met. Chances at true rates.", "faint"
)


def _power_table(powers: list[Power]) -> Table:
    alike: dict[tuple[str, ...], list[str]] = {}
    for power in powers:
        own = (power.requirement, power.measure, f"{power.templates:,}", *_chances(power))
        alike.setdefault(own, []).append(power.language)
    rows = [Row((", ".join(tags), *own), group=name) for (name, *own), tags in alike.items()]
    met, not_met = ("met .95", ".98", ".99"), ("not met .85", ".80", ".70")
    return Table((*headings("language", "measure"), *numbers("templates", "needs", *met, *not_met)), rows)


def _chances(power: Power) -> Iterator[str]:
    yield "–" if power.templates_if_perfect is None else f"{power.templates_if_perfect:,}"
    for name in (*MET, *NOT_MET):
        chance = getattr(power, name)
        yield "–" if chance is None else f"{chance:.0%}"


def describe_model(model: ModelForecast) -> str:
    """One line with a model's requests, cost and time."""
    time = "in batches, within a day" if model.batch else duration(model.seconds) if model.seconds else ""
    return ", ".join(filter(None, (f"{model.requests:,} prompts", _money(model), time)))


def _money(text: ModelForecast | Forecast) -> str:
    if text.cost_usd is None or text.cost_most_usd is None:
        return "price unknown"
    if not text.cost_most_usd:
        return "free"
    return f"about {dollars(text.cost_usd)}, at most {dollars(text.cost_most_usd)}"


def total_money(expected: Forecast) -> str:
    """Total cost of all models with known prices."""
    known = [cost for cost in expected.cost_by_model.values() if cost is not None]
    unknown = len(expected.cost_by_model) - len(known)
    if not unknown or not sum(known):
        return _money(expected)
    models = "1 model" if unknown == 1 else f"{unknown} models"
    return f"about {dollars(sum(known))} and what {models} of unknown price cost"


def _total_time(expected: Forecast) -> str:
    batched = any(model.batch for model in expected.models.values())
    alone = duration(expected.seconds) if expected.seconds or not batched else ""
    return ", ".join(filter(None, (alone, "batches within a day" if batched else "")))


def duration(seconds: float) -> str:
    """Readable duration: `about 40 s`, `about 12 min`, `about 3.5 h`; no number of models without
    limits, as simulated ones are."""
    if not seconds:
        return "as fast as this machine"
    if seconds < 120:
        return f"about {seconds:,.0f} s"
    return f"about {seconds / 60:,.0f} min" if seconds < 7200 else f"about {seconds / 3600:,.1f} h"


def describe_tokens(model: ModelForecast) -> str:
    """Input and output tokens of a model, and how they were estimated."""
    sent = f"{model.input_tokens:,} tokens in" + ("" if model.input_is_exact else " (estimated)")
    text = f"as in {model.output_seen:,} earlier replies" if model.output_seen else "assumed"
    return f"{sent}, about {model.output_tokens:,} out ({text}), at most {model.most_output_tokens:,}"


def describe_judge(judge: JudgeForecast) -> str:
    """One line with the judge's maximum requests and cost."""
    price = "price unknown" if judge.cost_most_usd is None else f"at most {dollars(judge.cost_most_usd)}"
    passing = judge.requests_if_all_pass
    fewer = f" (about {passing:,} if every reply passes)" if passing else ""
    controls = f", {judge.control_requests:,} of them controls" if judge.control_requests else ""
    return f"the judge, in addition: at most {judge.most_requests:,} requests{fewer}{controls}, {price}"


def _grounds(expected: Forecast) -> str:
    """Sources of the estimates shown."""
    models = expected.models.values()
    assumed = ", ".join(f"{tokens} tokens for a {kind} prompt" for kind, tokens in REPLY_TOKENS.items())
    grounds = [
        (True, "Money at list prices, time at the limits of models.yaml."),
        (
            not all(model.input_is_exact for model in models),
            "Estimated input: by a tokenizer that may not be the model's, or four characters a token.",
        ),
        (
            not all(model.output_seen for model in models),
            f"Assumed replies: {assumed}, {THINKING_TOKENS} more from models that take no `max_tokens`.",
        ),
    ]
    return " ".join(words for holds, words in grounds if holds)


def _grid(cells: list[dict[str, Any]]) -> Table:
    """Counts by requirement and language, and by cell up to MANY_CELLS."""
    rows = []
    for (requirement, language), found in groupby(cells, key=itemgetter("requirement", "language")):
        own = list(found)
        rows.append(Row((requirement, language, *_counts(own))))
        for each in own if len(cells) <= MANY_CELLS else ():
            kind = Cell(f"  {each['input']} · {each['reflection']}", "faint")
            rows.append(Row((kind, "", *_counts([each]))))
    return Table((*headings("requirement", "language"), *numbers("templates", "instances")), rows, "plain")


def _counts(cells: list[dict[str, Any]]) -> Iterator[str]:
    return (f"{sum(cell[name] for cell in cells):,}" for name in ("templates", "instances"))
