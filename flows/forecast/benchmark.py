"""Estimates prompts, tokens, cost and time of a scenario, per model and in total."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from biasgrid.catalogs.scenario.coverage import CELLS
from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.catalogs.schema.entries import ScenarioSettings
from biasgrid.flows.forecast.model import (
    JudgeForecast,
    Load,
    ModelForecast,
    is_tokenized,
    judge_forecast,
    model_forecast,
    prompt_tokens,
    seconds,
)
from biasgrid.flows.forecast.reply_estimates import observed_replies
from biasgrid.tasks.generate.instantiate import instances
from biasgrid.warehouse.storage.lake import Lake

if TYPE_CHECKING:
    from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, slots=True)
class Forecast:
    """Sums over all models but the judge, whose share nobody knows before: `judge` holds the most it can take.

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

    def as_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @property
    def likely(self) -> Forecast:
        return self


def forecast(resolved: ResolvedScenario, lake: Lake | None = None, *, brief: bool = False) -> Forecast:
    """Forecast of a checked scenario, with reply lengths from `lake`; `brief` avoids loading a tokenizer."""
    settings = resolved.settings
    asked = pl.concat(
        instances(requirement, language, resolved.catalog, settings)
        for requirement in resolved.requirements
        for language in requirement.languages
    )
    targets = list(resolved.targets.values())
    observed = observed_replies(lake, targets, settings.max_tokens) if lake else {}
    judge = resolved.judge
    ways = {target.model: is_tokenized(target, brief=brief) for target in (*targets, *([judge] if judge else []))}
    counted = {tokenized: prompt_tokens(asked, tokenized=tokenized) for tokenized in {*ways.values()}}
    told = [
        model_forecast(target, _sent(counted[ways[target.model]], settings), settings, observed)
        for target in targets
    ]
    return _summed(
        asked,
        dict(zip(resolved.targets, [model for model, _ in told], strict=True)),
        [load for _, load in told],
        judge_forecast(judge, counted[ways[judge.model]], targets, settings) if judge else None,
    )


def _sent(asked: pl.DataFrame, settings: ScenarioSettings) -> pl.DataFrame:
    return asked if settings.reuse == "none" else asked.unique("text")


def _summed(
    asked: pl.DataFrame, models: Mapping[str, ModelForecast], loads: list[Load], judge: JudgeForecast | None
) -> Forecast:
    return Forecast(
        instances=asked.height,
        by_concern=dict(asked.group_by("concern").len().sort("concern").iter_rows()),
        by_cell=_cells(asked),
        seconds=seconds(loads),
        judge=judge,
        **totals(models),
    )


def of_models(expected: Forecast, models: Mapping[str, ModelForecast]) -> Forecast:
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


ORDER = {" · ".join(cell): position for position, cell in enumerate(CELLS)}


def _cells(asked: pl.DataFrame) -> list[dict[str, object]]:
    """Cells by requirement and language, in catalog order."""
    part = ["requirement", "concern", "language"]
    counts = [pl.col("template_id").n_unique().alias("templates"), pl.len().alias("instances")]
    cells = asked.group_by([*part, "input", "reflection"], maintain_order=True).agg(counts).with_row_index("place")
    kind = pl.concat_str("input", "reflection", separator=" · ").replace_strict(ORDER, return_dtype=pl.Int64)
    return cells.sort(pl.col("place").min().over(part), kind).drop("place").to_dicts()


def remaining(expected: Forecast, lake: Lake, run_id: str) -> Forecast:
    """`expected` less each model's share of stored replies; replies in crash journals still count as open."""
    left = _open_shares(lake, run_id)
    models = {name: model.share(left.get(name, 1.0)) for name, model in expected.models.items()}
    return of_models(expected, models)


def _open_shares(lake: Lake, run_id: str) -> Mapping[str, float]:
    answered = lake.scan("responses", run_id).filter(pl.col("text").is_not_null(), pl.col("purpose") == "subject")
    asked = lake.scan("cases", run_id).select("model", "request_key").unique()
    left = asked.join(answered, on="request_key", how="anti").group_by("model").agg(pl.len().alias("left"))
    share = (pl.col("left").fill_null(0) / pl.col("all")).alias("share")
    counts = asked.group_by("model").agg(pl.len().alias("all")).join(left, on="model", how="left")
    return dict(counts.select("model", share).collect().iter_rows())
