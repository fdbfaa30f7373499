"""Splits a nightly run into shards of models with their shares of the caps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.catalogs.schema.entries import ScenarioSettings
from biasgrid.flows.scheduled.options import By
from biasgrid.warehouse.hashing import content_hash


@dataclass(frozen=True, slots=True)
class Shard:
    """Part of a run that one process prompts and evaluates."""

    models: tuple[str, ...]
    planned: int
    """Number of cases."""
    max_cost: float | None = None
    """US dollars, as a share of the run's cap."""
    max_requests: int | None = None

    @property
    def part(self) -> str:
        """Name in locks and tags, stable across redispatches."""
        return part_of(self.models)

    @property
    def title(self) -> str:
        """Display title, as in `gpt-4o` or `gpt-4o and 2 more`."""
        first, *more = (model.partition("/")[2] for model in self.models)
        return f"{first} and {len(more)} more" if more else first


def part_of(models: Sequence[str]) -> str:
    """Name of a part, independent of the order of its models."""
    return content_hash(sorted(models))[:12]


def shards(cells: pl.DataFrame, resolved: ResolvedScenario, by: By = "model") -> list[Shard]:
    """One shard per model, or per provider, the longest first, with shares of the caps. Raises UserError if a cap
    leaves a shard nothing."""
    models, planned = pl.col("model").unique().sort().alias("models"), pl.col("planned").sum()
    groups = cells.group_by(pl.col(by).alias("by"), maintain_order=True).agg(models, planned)
    ordered = groups.sort("planned", descending=True, maintain_order=True)
    weights = _weights(resolved)
    rows = ordered.select("models", "planned").iter_rows()
    return [_cap(tuple(own), cases, resolved.settings, weights) for own, cases in rows]


@dataclass(frozen=True, slots=True)
class _Weight:
    requests: Fraction
    cost: float


def _weights(resolved: ResolvedScenario) -> Mapping[str, _Weight]:
    """Each model's share of expected requests and cost; unused without caps."""
    settings = resolved.settings
    if settings.max_cost is None and settings.max_requests is None:
        return {}
    from biasgrid.flows.benchmark.forecast import forecast

    expected = forecast(resolved, brief=True).models
    sent = sum(model.requests for model in expected.values())
    most = sum(model.cost_most_usd or 0.0 for model in expected.values())
    return {
        name: _Weight(Fraction(model.requests, max(sent, 1)), (model.cost_most_usd or 0.0) / most if most else 1.0)
        for name, model in expected.items()
    }


def _cap(
    models: tuple[str, ...], planned: int, settings: ScenarioSettings, weights: Mapping[str, _Weight]
) -> Shard:
    cost, requests = settings.max_cost, settings.max_requests
    if cost is not None:  # who costs nothing spends nothing of it
        cost *= min(1.0, sum(weights[model].cost for model in models)) or 1.0
    if requests is not None:
        requests = floor(requests * sum((weights[model].requests for model in models), Fraction()))
        if requests == 0:
            what = f"`max_requests: {settings.max_requests}` leaves no request for `{', '.join(models)}`"
            raise UserError(Problem(what, "max_requests", "raise it, or ask fewer models"))
    return Shard(models, planned, cost, requests)
