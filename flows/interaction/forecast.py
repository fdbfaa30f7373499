"""Estimates requests, tokens, cost and time of an interaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from biasgrid.catalogs.scenario.interaction import ResolvedInteraction
from biasgrid.flows.forecast.model import Amounts, seconds
from biasgrid.flows.forecast.reply_estimates import Observed, expected_reply, most_tokens, observed_replies
from biasgrid.flows.forecast.totals import Forecast, OfWhole, leave_out, totals, without_answered
from biasgrid.tasks.connectors.usage import estimate_tokens
from biasgrid.tasks.interaction.plan import plan_by_cell
from biasgrid.tasks.interaction.play import Play
from biasgrid.tasks.interaction.prompts import rehearse

if TYPE_CHECKING:
    from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, slots=True)
class InteractionForecast(OfWhole):
    """Forecast of all plays, without retries of temporary failures."""

    plays: int
    whole: Forecast


def forecast(
    resolved: ResolvedInteraction, lake: Lake | None = None, *, brief: bool = False
) -> InteractionForecast:
    """Of an interaction that has been checked; from a `lake` it learns how long replies have been. Of the runs of
    a scene in which the same models speak in the same order the first stands for all: they send about the same."""
    targets = {target.model: target for target in resolved.asked}
    observed = observed_replies(lake, targets.values(), resolved.settings.max_tokens) if lake else {}
    plays = [play for cell in plan_by_cell("unplanned", resolved) for play in cell]
    load = _load(plays, observed, resolved.settings.max_tokens)
    models = {model: own.forecast(targets[model], seconds=0.0) for model, own in load.items()}
    loads = [own.load(targets[model]) for model, own in load.items()]
    concerns = Counter(play.concern for play in plays)
    cells = _cells(plays)
    whole = Forecast(
        instances=len(plays),
        by_concern=dict(sorted(concerns.items())),
        by_cell=cells,
        seconds=seconds(loads),
        judge=None,
        **totals(models),
    )
    named = ((f"{one['language']} · {one['setting']} · {one['mitigation']}", one["requests"]) for one in cells)
    return InteractionForecast(len(plays), leave_out(whole, named, resolved.settings))


def forecast_rest(resolved: ResolvedInteraction, lake: Lake, run_id: str) -> InteractionForecast:
    """Forecast less stored replies of a resumed run."""
    expected = forecast(resolved, lake)
    return InteractionForecast(expected.plays, without_answered(expected.whole, lake.scan("responses", run_id)))


def _load(plays: Iterable[Play], observed: Observed, max_tokens: int | None) -> dict[str, Amounts]:
    """Requests and tokens by model."""
    found: dict[str, Amounts] = {}
    for first, times in _alike(plays):
        speaking = first.people[0].party.target
        length = round(expected_reply(speaking, first.setting, max_tokens, observed).tokens)
        for party, messages in rehearse(first, length):
            reply = expected_reply(party.target, first.setting, max_tokens, observed)
            sums = found.setdefault(party.target.model, Amounts(seen=reply.seen))
            sums.requests += times
            sums.input_tokens += times * sum(estimate_tokens(message.content) for message in messages)
            sums.output_tokens += times * reply.tokens
            sums.most_output_tokens += times * most_tokens(party.target, max_tokens)
            sums.waiting_s += times * reply.seconds
    for sums in found.values():
        sums.output_tokens = round(sums.output_tokens)
        sums.most_output_tokens = max(sums.most_output_tokens, sums.output_tokens)
    return found


def _alike(plays: Iterable[Play]) -> Iterator[tuple[Play, int]]:
    """First play per scene, cell and order of models, with the number of identical plays."""
    first: dict[Hashable, Play] = {}
    times: Counter[Hashable] = Counter()
    for play in plays:
        models = tuple(person.party.target.model for person in play.people)
        key = (play.cell_id, play.template_id, models)
        first.setdefault(key, play)
        times[key] += 1
    return ((first[key], own) for key, own in times.items())


def _cells(plays: Iterable[Play]) -> list[dict[str, Any]]:
    """Scenes, plays and requests by language, setting and mitigation, over all players."""
    rows = [(p.wording.id, p.setting, p.mitigation, p.facets["scene"], p.requests) for p in plays]
    names = ("language", "setting", "mitigation", "scene", "requests")
    frame = pl.DataFrame(rows, schema=names, orient="row")
    counts = [pl.col("scene").n_unique().alias("scenes"), pl.len().alias("plays"), pl.col("requests").sum()]
    return frame.group_by(names[:3], maintain_order=True).agg(counts).to_dicts()
