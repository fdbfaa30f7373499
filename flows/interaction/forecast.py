"""Estimates requests, tokens, cost and time of an interaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from biasgrid.catalogs.scenario.interaction import ResolvedInteraction
from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.forecast.benchmark import Forecast, of_models, totals
from biasgrid.flows.forecast.model import Load, ModelForecast, cost_usd, seconds
from biasgrid.flows.forecast.reply_estimates import (
    Observed,
    expected_reply,
    is_local,
    most_tokens,
    observed_replies,
)
from biasgrid.flows.interaction.prepare import planned
from biasgrid.tasks.connectors.usage import estimate_tokens
from biasgrid.tasks.interaction.play import Play
from biasgrid.tasks.interaction.prompts import rehearse

if TYPE_CHECKING:
    from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, slots=True)
class InteractionForecast:
    """Forecast of all plays, without retries of temporary failures."""

    plays: int
    whole: Forecast

    def as_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @property
    def likely(self) -> Forecast:
        return self.whole


def interaction_forecast(resolved: ResolvedInteraction, lake: Lake | None = None) -> InteractionForecast:
    """Of an interaction that has been checked; from a `lake` it learns how long replies have been. Of the runs of
    a scene in which the same models speak in the same order the first stands for all: they send about the same."""
    targets = {target.model: target for target in resolved.asked}
    observed = observed_replies(lake, targets.values(), resolved.settings.max_tokens) if lake else {}
    plays = [play for cell in planned("unplanned", resolved) for play in cell]
    load = _load(plays, observed, resolved.settings.max_tokens)
    models = {model: _model(targets[model], own, resolved) for model, own in load.items()}
    loads = [_held_up(targets[model], told, load[model].waiting_s) for model, told in models.items()]
    concerns = Counter(play.concern for play in plays)
    whole = Forecast(
        instances=len(plays),
        by_concern=dict(sorted(concerns.items())),
        by_cell=_cells(plays),
        seconds=seconds(loads),
        judge=None,
        **totals(models),
    )
    return InteractionForecast(len(plays), whole)


def left_of(resolved: ResolvedInteraction, lake: Lake, run_id: str) -> InteractionForecast:
    """Forecast less stored replies of a resumed run."""
    expected = interaction_forecast(resolved, lake)
    replies = lake.scan("responses", run_id).filter(pl.col("text").is_not_null())
    answered = dict(replies.group_by("model").agg(pl.col("request_key").n_unique()).collect().iter_rows())
    models = {
        name: model.share(max(0, model.requests - answered.get(name, 0)) / max(model.requests, 1))
        for name, model in expected.whole.models.items()
    }
    return InteractionForecast(expected.plays, of_models(expected.whole, models))


@dataclass(slots=True)
class _Sums:
    requests: int = 0
    input_tokens: int = 0
    output_tokens: float = 0.0
    waiting_s: float = 0.0
    seen: int = 0


def _load(plays: Iterable[Play], observed: Observed, max_tokens: int | None) -> dict[str, _Sums]:
    """Requests and tokens by model."""
    found: dict[str, _Sums] = {}
    for first, times in _alike(plays):
        speaking = first.people[0].party.target
        length = round(expected_reply(speaking, first.setting, max_tokens, observed).tokens)
        for party, messages in rehearse(first, length):
            reply = expected_reply(party.target, first.setting, max_tokens, observed)
            sums = found.setdefault(party.target.model, _Sums(seen=reply.seen))
            sums.requests += times
            sums.input_tokens += times * sum(estimate_tokens(message.content) for message in messages)
            sums.output_tokens += times * reply.tokens
            sums.waiting_s += times * reply.seconds
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


def _model(target: Target, sums: _Sums, resolved: ResolvedInteraction) -> ModelForecast:
    most = sums.requests * most_tokens(target, resolved.settings.max_tokens)
    written = round(sums.output_tokens)
    return ModelForecast(
        requests=sums.requests,
        input_tokens=sums.input_tokens,
        input_is_exact=False,
        output_tokens=written,
        most_output_tokens=max(most, written),
        output_seen=sums.seen,
        cost_usd=cost_usd(target, sums.input_tokens, written, sums.requests),
        cost_most_usd=cost_usd(target, sums.input_tokens, max(most, written), sums.requests),
        batch=False,
        seconds=0.0,
    )


def _held_up(target: Target, told: ModelForecast, waiting_s: float) -> Load:
    held_up = not is_local(target)
    return Load(target, told.requests * held_up, (told.input_tokens + told.output_tokens) * held_up, waiting_s)


def _cells(plays: Iterable[Play]) -> list[dict[str, Any]]:
    """Scenes, plays and requests by language, setting and mitigation, over all players."""
    rows = [(p.wording.id, p.setting, p.mitigation, p.facets["scene"], p.requests) for p in plays]
    names = ("language", "setting", "mitigation", "scene", "requests")
    frame = pl.DataFrame(rows, schema=names, orient="row")
    counts = [pl.col("scene").n_unique().alias("scenes"), pl.len().alias("plays"), pl.col("requests").sum()]
    return frame.group_by(names[:3], maintain_order=True).agg(counts).to_dicts()
