"""Estimates prompts, tokens, cost and time of a probe, at most and at least."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from biasgrid.catalogs.scenario.targets import ResolvedProbe
from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.forecast.benchmark import Forecast, of_models, totals
from biasgrid.flows.forecast.model import (
    ModelForecast,
    cost_usd,
    is_tokenized,
    model_forecast,
    prompt_tokens,
    seconds,
)
from biasgrid.flows.forecast.reply_estimates import Observed, observed_replies
from biasgrid.flows.probe.prepare import asking, begun_with, catalogued, follows
from biasgrid.tasks.probe.loader import Loader
from biasgrid.tasks.probe.prompts import Prompt
from biasgrid.tasks.probe.request import TOKENS, request_text

if TYPE_CHECKING:
    from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, slots=True)
class ProbeForecast:
    """Forecast of all models under test and of the `generator`, whose pairs are estimated from the catalog's."""

    whole: Forecast
    """Upper bound: the explicit test follows for every pair."""
    sure: Forecast
    """Lower bound, independent of the findings."""
    generator: ModelForecast | None = None
    generated_by: str | None = None

    def as_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @property
    def likely(self) -> Forecast:
        return self.whole

    @property
    def conditional(self) -> int:
        """Requests sent only if implicit bias is found."""
        return self.whole.requests - self.sure.requests


def probe_forecast(resolved: ResolvedProbe, lake: Lake | None = None, *, brief: bool = False) -> ProbeForecast:
    """Forecast of a checked probe with reply lengths from `lake`; `brief`: without a tokenizer."""
    settings, targets = resolved.settings, list(resolved.targets.values())
    observed = observed_replies(lake, targets, settings.max_tokens) if lake else {}
    stereotypes = catalogued(resolved)
    begun = asking(resolved, stereotypes, begun_with(resolved))
    later = asking(resolved, stereotypes, ["explicit"]) if follows(resolved) else []
    sure, whole = (_forecast(resolved, told, observed, brief=brief) for told in (begun, [*begun, *later]))
    generator = resolved.generator
    if generator is None:
        return ProbeForecast(whole, sure)
    return ProbeForecast(whole, sure, _generating(resolved, generator, brief=brief), generator.model)


def left_of(expected: ProbeForecast, lake: Lake, run_id: str) -> ProbeForecast:
    """Forecast less stored replies of a resumed run, whose planned pairs are fixed."""
    replies = lake.scan("responses", run_id).filter(pl.col("text").is_not_null(), pl.col("purpose") == "subject")
    answered = dict(replies.group_by("model").agg(pl.col("request_key").n_unique()).collect().iter_rows())
    whole, sure = (_less(part, answered) for part in (expected.whole, expected.sure))
    is_settled = bool(lake.files("cases", run_id))
    return replace(expected, whole=whole, sure=sure, generator=None if is_settled else expected.generator)


def _less(expected: Forecast, answered: dict[str, int]) -> Forecast:
    models = {
        name: model.share(max(0, model.requests - answered.get(name, 0)) / max(model.requests, 1))
        for name, model in expected.models.items()
    }
    return of_models(expected, models)


def _forecast(resolved: ResolvedProbe, prompts: Sequence[Prompt], observed: Observed, *, brief: bool) -> Forecast:
    asked, settings = _frame(resolved, prompts), resolved.settings
    sent = asked if settings.reuse == "none" else asked.unique(["text", "sample"], maintain_order=True)
    told = {
        name: model_forecast(target, _counted(sent, target, brief=brief), settings, observed)
        for name, target in resolved.targets.items()
    }
    return Forecast(
        instances=asked.height,
        by_concern=dict(asked.group_by("concern").len().sort("concern").iter_rows()),
        by_cell=_cells(asked),
        seconds=seconds([load for _, load in told.values()]),
        judge=None,
        **totals({name: model for name, (model, _) in told.items()}),
    )


SCHEMA = ("language", "axis", "pair", "input", "concern", "sample", "text")


def _frame(resolved: ResolvedProbe, prompts: Sequence[Prompt]) -> pl.DataFrame:
    """One row per prompt, its text preceded by the system message."""
    system = resolved.file.target.system
    before = f"{system}\n" if system else ""
    rows = [
        (own.language, own.axis, own.pair, prompt.test, own.concern, prompt.sample, before + prompt.text)
        for prompt in prompts
        for own in (prompt.stereotype,)
    ]
    kinds = {name: pl.Int64 if name == "sample" else pl.String for name in SCHEMA}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def _counted(sent: pl.DataFrame, target: Target, *, brief: bool) -> pl.DataFrame:
    return prompt_tokens(sent, tokenized=is_tokenized(target, brief=brief))


def _cells(asked: pl.DataFrame) -> list[dict[str, Any]]:
    """Number of pairs and prompts by language, axis and test, in request order."""
    counts = [pl.col("pair").n_unique().alias("pairs"), pl.len().alias("prompts")]
    by = ["language", "axis", "input"]
    return asked.group_by(by, maintain_order=True).agg(counts).rename({"input": "test"}).to_dicts()


def _generating(resolved: ResolvedProbe, generator: Target, *, brief: bool) -> ModelForecast:
    """Forecast of the pair generator, with replies at their maximum length."""
    described, catalog = resolved.file.target, resolved.catalog
    languages = dict.fromkeys(described.languages)
    loaders = [Loader(catalog, described, resolved.file.probe, language, 0) for language in languages]
    asked = [part for loader in loaders for part in loader.parts()]
    texts = [request_text(part, described, catalog) for part in asked]
    tokens = int(_counted(pl.DataFrame({"text": texts}), generator, brief=brief)["tokens"].sum())
    most = sum(TOKENS[0] + TOKENS[1] * part.count for part in asked)
    cost = cost_usd(generator, tokens, most, len(asked))
    return ModelForecast(
        requests=len(asked),
        input_tokens=tokens,
        input_is_exact=False,
        output_tokens=most,
        most_output_tokens=most,
        output_seen=0,
        cost_usd=cost,
        cost_most_usd=cost,
        batch=False,
        seconds=0.0,
    )
