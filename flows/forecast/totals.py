"""Forecast of a run: sums over its models, and what remains of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from biasgrid.flows.forecast.model import AsJson, JudgeForecast, ModelForecast
from biasgrid.flows.forecast.power import Power


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

    @property
    def likely(self) -> Forecast:
        return self


def without_answered(expected: Forecast, replies: pl.LazyFrame) -> Forecast:
    """The forecast less the distinct requests of each model that have a reply."""
    answered = replies.filter(pl.col("text").is_not_null()).group_by("model").agg(pl.col("request_key").n_unique())
    counts = dict(answered.collect().iter_rows())
    return replace_models(expected, {name: one.less(counts.get(name, 0)) for name, one in expected.models.items()})


def replace_models(expected: Forecast, models: Mapping[str, ModelForecast]) -> Forecast:
    """Copy of the forecast with other model figures and its time scaled by their requests."""
    left = replace(expected, **totals(models))
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


def _total(costs: Iterable[float | None]) -> float | None:
    known = list(costs)
    return None if None in known else sum(cost for cost in known if cost is not None)
