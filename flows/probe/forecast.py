"""Estimates prompts, tokens, cost and time of a probe, at most and at least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from biasgrid.catalogs.scenario.targets import ResolvedProbe
from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.forecast.model import Amounts, ModelForecast, is_tokenized, prompt_tokens
from biasgrid.flows.forecast.reply_estimates import Observed, observed_replies
from biasgrid.flows.forecast.totals import Forecast, OfWhole, forecast_prompts, leave_out, without_answered
from biasgrid.flows.probe.prepare import catalog_stereotypes, first_tests, has_follow_up, list_prompts
from biasgrid.tasks.connectors.client.run_budget import Planned
from biasgrid.tasks.probe.loader import Loader
from biasgrid.tasks.probe.prompts import Prompt
from biasgrid.tasks.probe.request import TOKENS, request_text

if TYPE_CHECKING:
    from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, slots=True)
class ProbeForecast(OfWhole):
    """Forecast of all models under test and of the `generator`, whose pairs are estimated from the catalog's."""

    whole: Forecast
    """Upper bound: the explicit test follows for every pair."""
    sure: Forecast
    """Lower bound, independent of the findings."""
    generator: ModelForecast | None = None
    generated_by: str | None = None

    @property
    def planned(self) -> dict[str, Planned]:
        """What each model may be sent, the generator included."""
        found = self.whole.planned
        if self.generator and self.generated_by:
            own = Planned(self.generator.requests, self.generator.cost_most_usd or 0.0, is_first=True)
            found[self.generated_by] = found[self.generated_by] + own if self.generated_by in found else own
        return found

    @property
    def conditional(self) -> int:
        """Requests sent only if implicit bias is found."""
        return self.whole.requests - self.sure.requests


def forecast(resolved: ResolvedProbe, lake: Lake | None = None, *, brief: bool = False) -> ProbeForecast:
    """Forecast of a checked probe with reply lengths from `lake`; `brief`: without a tokenizer."""
    settings, targets = resolved.settings, list(resolved.targets.values())
    observed = observed_replies(lake, targets, settings.max_tokens) if lake else {}
    stereotypes = catalog_stereotypes(resolved)
    begun = list_prompts(resolved, stereotypes, first_tests(resolved))
    later = list_prompts(resolved, stereotypes, ["explicit"]) if has_follow_up(resolved) else []
    sure, whole = (_forecast(resolved, shown, observed, brief=brief) for shown in (begun, [*begun, *later]))
    generator = resolved.generator
    if generator is None:
        return ProbeForecast(whole, sure)
    return ProbeForecast(whole, sure, _forecast_generator(resolved, generator, brief=brief), generator.model)


def forecast_rest(resolved: ResolvedProbe, lake: Lake, run_id: str) -> ProbeForecast:
    """Forecast less stored replies of a resumed run, whose planned pairs are fixed."""
    expected = forecast(resolved, lake, brief=True)
    replies = lake.scan("responses", run_id).filter(pl.col("purpose") == "subject")
    whole, sure = (without_answered(part, replies) for part in (expected.whole, expected.sure))
    is_settled = bool(lake.files("cases", run_id))
    return replace(expected, whole=whole, sure=sure, generator=None if is_settled else expected.generator)


def _forecast(resolved: ResolvedProbe, prompts: Sequence[Prompt], observed: Observed, *, brief: bool) -> Forecast:
    asked = _frame(resolved, prompts)
    cells = _cells(asked)
    expected = forecast_prompts(asked, cells, resolved, observed, brief=brief)
    named = ((f"{cell['language']} · {cell['axis']} · {cell['test']}", cell["prompts"]) for cell in cells)
    return leave_out(expected, named, resolved.settings)


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


def _cells(asked: pl.DataFrame) -> list[dict[str, Any]]:
    """Number of pairs and prompts by language, axis and test, in request order."""
    counts = [pl.col("pair").n_unique().alias("pairs"), pl.len().alias("prompts")]
    by = ["language", "axis", "input"]
    return asked.group_by(by, maintain_order=True).agg(counts).rename({"input": "test"}).to_dicts()


def _forecast_generator(resolved: ResolvedProbe, generator: Target, *, brief: bool) -> ModelForecast:
    """Forecast of the pair generator, with replies at their maximum length."""
    described, catalog = resolved.file.target, resolved.catalog
    languages = dict.fromkeys(described.languages)
    loaders = [Loader(catalog, described, resolved.file.probe, language, 0) for language in languages]
    asked = [part for loader in loaders for part in loader.parts()]
    texts = [request_text(part, described, catalog) for part in asked]
    frame = prompt_tokens(pl.DataFrame({"text": texts}), tokenized=is_tokenized(generator, brief=brief))
    tokens = int(frame["tokens"].sum())
    most = sum(TOKENS[0] + TOKENS[1] * part.count for part in asked)
    amounts = Amounts(len(asked), tokens, most, most)
    return amounts.forecast(generator, seconds=0.0)
