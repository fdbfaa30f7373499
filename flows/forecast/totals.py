"""Forecast of a run: sums over its models, and what remains of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from biasgrid.catalogs.scenario.resolution import Resolved
from biasgrid.catalogs.schema.requirements import ScenarioSettings
from biasgrid.flows.forecast.model import (
    AsJson,
    JudgeForecast,
    ModelForecast,
    is_tokenized,
    model_forecast,
    prompt_tokens,
    seconds,
)
from biasgrid.flows.forecast.power import Power
from biasgrid.flows.forecast.reply_estimates import Observed
from biasgrid.tasks.connectors.client.run_budget import Planned


@dataclass(frozen=True, slots=True)
class Forecast(AsJson):
    """Sums over all models but the judge, whose share is not known before: `judge` holds its upper bound.

    `instances` are the scenario's, `requests` what is sent: what two requirements ask alike is sent once, unless
    nothing is to stand in for asking. Money in US dollars, None where a price is unknown; `seconds` at the
    providers' limits, batches left out.
    """

    instances: int
    requests: int
    by_concern: Mapping[str, int]
    by_model: Mapping[str, int]
    by_cell: list[dict[str, object]]
    tokens: int
    input_tokens: int
    output_tokens: int
    most_output_tokens: int
    cost_usd: float | None
    cost_most_usd: float | None
    cost_by_model: Mapping[str, float | None]
    seconds: float
    models: Mapping[str, ModelForecast]
    judge: JudgeForecast | None
    power: list[Power] = field(default_factory=list)
    """How likely each requirement is decided, of a benchmark."""
    cautions: list[str] = field(default_factory=list)
    """Warnings about its requirements."""

    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Cells of each model that the caps are expected to leave out, in the order in which they are sent."""

    @property
    def likely(self) -> Forecast:
        return self

    @property
    def planned(self) -> dict[str, Planned]:
        """What each model may be sent, the judge included."""
        found = {name: Planned(one.requests, one.cost_most_usd or 0.0) for name, one in self.models.items()}
        if judge := self.judge:
            own = Planned(judge.most_requests, judge.cost_most_usd or 0.0)
            found[judge.model] = found.get(judge.model, Planned(0)) + own
        return found


class OfWhole(AsJson):
    """A forecast whose `whole` is all that may be sent, and what is likely as well."""

    __slots__ = ()
    whole: Forecast

    @property
    def likely(self) -> Forecast:
        return self.whole

    @property
    def planned(self) -> dict[str, Planned]:
        """What each model may be sent."""
        return self.whole.planned


def forecast_prompts(
    asked: pl.DataFrame, cells: list[dict[str, Any]], resolved: Resolved, observed: Observed, *, brief: bool
) -> Forecast:
    """Forecast of prompts without a judge; `asked` has `text`, `sample`, `input` and `concern` of each."""
    settings = resolved.settings
    sent = asked if settings.reuse == "none" else asked.unique(["text", "sample"], maintain_order=True)
    shown = {
        name: model_forecast(
            target, prompt_tokens(sent, tokenized=is_tokenized(target, brief=brief)), settings, observed
        )
        for name, target in resolved.targets.items()
    }
    return Forecast(
        instances=asked.height,
        by_concern=dict(asked.group_by("concern").len().sort("concern").iter_rows()),
        by_cell=cells,
        seconds=seconds([load for _, load in shown.values()]),
        judge=None,
        **totals({name: model for name, (model, _) in shown.items()}),
    )


def without_answered(expected: Forecast, replies: pl.LazyFrame) -> Forecast:
    """The forecast less the distinct requests of each model that have a reply."""
    answered = replies.filter(pl.col("text").is_not_null()).group_by("model").agg(pl.col("request_key").n_unique())
    counts = dict(answered.collect().iter_rows())
    return replace_models(expected, {name: one.less(counts.get(name, 0)) for name, one in expected.models.items()})


def replace_models(expected: Forecast, models: Mapping[str, ModelForecast]) -> Forecast:
    """Copy of the forecast with other model figures and its time scaled by their requests."""
    left = replace(expected, left_out={}, **totals(models))
    return replace(left, seconds=round(expected.seconds * left.requests / max(expected.requests, 1), 1))


def totals(models: Mapping[str, ModelForecast]) -> dict[str, Any]:
    """Forecast fields that are sums over models."""
    each = models.values()
    sent, received = sum(one.input_tokens for one in each), sum(one.output_tokens for one in each)
    return {
        "models": models,
        "requests": sum(one.requests for one in each),
        "by_model": {model: one.requests for model, one in models.items()},
        "tokens": sent + received,
        "input_tokens": sent,
        "output_tokens": received,
        "most_output_tokens": sum(one.most_output_tokens for one in each),
        "cost_usd": _total(one.cost_usd for one in each),
        "cost_most_usd": _total(one.cost_most_usd for one in each),
        "cost_by_model": {model: one.cost_usd for model, one in models.items()},
    }


Cells = Iterable[tuple[str, float]]
"""Name and size of each cell of a model, in the order in which they are sent."""


def leave_out(expected: Forecast, cells: Cells, settings: ScenarioSettings) -> Forecast:
    """The forecast with the cells that the caps leave out, if they are below it."""
    requests, cost = settings.max_requests, settings.max_cost
    if (requests is None or expected.requests <= requests) and (
        cost is None or (expected.cost_usd or 0.0) <= cost
    ):
        return expected
    own = list(cells)
    parts = {name: _affordable(one, expected, settings) for name, one in expected.models.items()}
    return replace(expected, left_out={name: _beyond(part, own) for name, part in parts.items() if part < 1})


def _affordable(model: ModelForecast, expected: Forecast, settings: ScenarioSettings) -> float:
    """The part of a model's requests that its shares of the caps cover."""
    part = 1.0 if settings.max_requests is None else settings.max_requests / max(expected.requests, 1)
    if settings.max_cost is not None and model.cost_usd and model.cost_most_usd and expected.cost_most_usd:
        part = min(part, settings.max_cost * model.cost_most_usd / expected.cost_most_usd / model.cost_usd)
    return part


def _beyond(part: float, cells: Sequence[tuple[str, float]]) -> list[str]:
    """The cells after the first `part` of their sum; one that it cuts is named as such."""
    room, found = part * sum(size for _, size in cells), list[str]()
    for name, size in cells:
        if room < size:
            found.append(f"{name} (in part)" if room >= 1 else name)
        room = max(0.0, room - size)
    return found


def _total(costs: Iterable[float | None]) -> float | None:
    known = list(costs)
    return None if None in known else sum(cost for cost in known if cost is not None)
