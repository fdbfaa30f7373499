"""Estimates prompts, tokens, cost and time of a scenario, per model and in total."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from biasgrid.catalogs.coverage import CELLS
from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.forecast.model import (
    JudgeForecast,
    is_tokenized,
    judge_forecast,
    model_forecast,
    prompt_tokens,
    seconds,
)
from biasgrid.flows.forecast.power import requirement_powers, strict_measures
from biasgrid.flows.forecast.reply_estimates import observed_replies
from biasgrid.flows.forecast.totals import Forecast, leave_out, replace_models, totals
from biasgrid.tasks.evaluate.controls import control_questions
from biasgrid.tasks.generate.instantiate import all_instances
from biasgrid.warehouse.storage.runs import shared_concern

if TYPE_CHECKING:
    from biasgrid.warehouse.storage.lake import Lake


def forecast(resolved: ResolvedScenario, lake: Lake | None = None, *, brief: bool = False) -> Forecast:
    """Forecast of a checked scenario, with reply lengths from `lake`; `brief` avoids loading a tokenizer."""
    asked = _all_instances(resolved)
    power = requirement_powers(resolved, asked)
    cautions = [*strict_measures(resolved.requirements, power)]
    expected = leave_out(_forecast(resolved, asked, lake, brief=brief), _sizes(asked), resolved.settings)
    return replace(expected, power=power, cautions=cautions)


def _sizes(asked: pl.DataFrame) -> Iterator[tuple[str, int]]:
    """Name and instances of each cell, in the order in which a model is asked."""
    sizes = asked.group_by("requirement", "language", "input", "reflection", maintain_order=True).len()
    return ((" · ".join(names), size) for *names, size in sizes.iter_rows())


def _all_instances(resolved: ResolvedScenario) -> pl.DataFrame:
    """Instances of all requirements."""
    asked = ((one, language) for one in resolved.requirements for language in one.languages)
    return all_instances(asked, resolved.catalog, resolved.settings)


def _forecast(resolved: ResolvedScenario, asked: pl.DataFrame, lake: Lake | None, *, brief: bool) -> Forecast:
    settings = resolved.settings
    targets = list(resolved.targets.values())
    observed = observed_replies(lake, targets, settings.max_tokens) if lake else {}
    judge = resolved.judge
    ways = {target.model: is_tokenized(target, brief=brief) for target in (*targets, *([judge] if judge else []))}
    counted = {tokenized: prompt_tokens(asked, tokenized=tokenized) for tokenized in {*ways.values()}}
    sent = counted if settings.reuse == "none" else {way: all_of.unique("text") for way, all_of in counted.items()}
    text = [model_forecast(target, sent[ways[target.model]], settings, observed) for target in targets]
    return Forecast(
        instances=asked.height,
        by_concern=dict(asked.group_by("concern").len().sort("concern").iter_rows()),
        by_cell=_cells(asked),
        seconds=seconds([load for _, load in text]),
        judge=_forecast_judge(judge, counted[ways[judge.model]], resolved) if judge else None,
        **totals(dict(zip(resolved.targets, [model for model, _ in text], strict=True))),
    )


def _forecast_judge(judge: Target, asked: pl.DataFrame, resolved: ResolvedScenario) -> JudgeForecast:
    languages = sorted(resolved.languages) if resolved.settings.judge_overrules else ()
    controls = [
        question.request() for language in languages for question in control_questions(resolved.catalog, language)
    ]
    return judge_forecast(judge, asked, list(resolved.targets.values()), resolved.settings, controls)


ORDER = {" · ".join(cell): position for position, cell in enumerate(CELLS)}


def _cells(asked: pl.DataFrame) -> list[dict[str, object]]:
    """Cells by requirement and language, in catalog order."""
    part = ["requirement", "language"]
    counts = [pl.col("template_id").n_unique().alias("templates"), pl.len().alias("instances")]
    grouped = asked.group_by([*part, "input", "reflection"], maintain_order=True)
    cells = grouped.agg(shared_concern(), *counts).with_row_index("place")
    kind = pl.concat_str("input", "reflection", separator=" · ").replace_strict(ORDER, return_dtype=pl.Int64)
    return cells.sort(pl.col("place").min().over(part), kind).drop("place").to_dicts()


def forecast_rest(resolved: ResolvedScenario, lake: Lake, run_id: str) -> Forecast:
    """Forecast less each model's share of stored replies; replies in journals still count as open."""
    expected = _forecast(resolved, _all_instances(resolved), lake, brief=True)
    left = _open_shares(lake, run_id)
    models = {name: model.share(left.get(name, 1.0)) for name, model in expected.models.items()}
    return replace_models(expected, models)


def _open_shares(lake: Lake, run_id: str) -> Mapping[str, float]:
    answered = lake.scan("responses", run_id).filter(pl.col("text").is_not_null(), pl.col("purpose") == "subject")
    asked = lake.scan("cases", run_id).select("model", "request_key").unique()
    left = asked.join(answered, on="request_key", how="anti").group_by("model").agg(pl.len().alias("left"))
    share = (pl.col("left").fill_null(0) / pl.col("all")).alias("share")
    counts = asked.group_by("model").agg(pl.len().alias("all")).join(left, on="model", how="left")
    return dict(counts.select("model", share).collect().iter_rows())
