"""Splits a nightly run into shards of models with their shares of the caps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.flows.scheduled.options import By
from biasgrid.tasks.connectors.api import CapReached
from biasgrid.tasks.connectors.client.run_budget import divide
from biasgrid.tasks.prompt.run_costs import read_run_costs
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import planned_cells

if TYPE_CHECKING:
    from biasgrid.flows.forecast.totals import Forecast


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
    made = [Shard(tuple(own), cases) for own, cases in ordered.select("models", "planned").iter_rows()]
    settings = resolved.settings
    if settings.max_cost is None and settings.max_requests is None:
        return made
    from biasgrid.flows.benchmark.forecast import forecast

    shared = _share_out(made, forecast(resolved, brief=True), settings.max_requests, settings.max_cost)
    if empty := [shard for shard in shared if shard.max_requests == 0]:
        names = ", ".join(model for shard in empty for model in shard.models)
        what = f"`max_requests: {settings.max_requests}` leaves no request for `{names}`"
        raise UserError(Problem(what, "max_requests", "raise it, or ask fewer models"))
    return shared


def share_rest(lake: Lake, run_id: str, handed: Sequence[Shard], resolved: ResolvedScenario) -> list[Shard]:
    """The shards that a cap stopped, with what the others have left of the caps; empty where nothing is left."""
    from biasgrid.flows.benchmark.forecast import forecast_rest

    stopped, settings = _stopped_models(lake, run_id), resolved.settings
    waiting = [shard for shard in handed if stopped.intersection(shard.models)]
    if not waiting:
        return []
    targets, cells = {target.model: target for target in resolved.asked}, planned_cells(lake, run_id)
    spent = read_run_costs(lake, run_id, targets)
    requests = None if settings.max_requests is None else settings.max_requests - spent.requests
    cost = None if settings.max_cost is None else settings.max_cost - spent.cost_usd
    if (requests is not None and requests <= 0) or (
        cost is not None and cost < spent.cost_usd / max(spent.requests, 1)
    ):
        return []
    more = []
    for shard in _share_out(waiting, forecast_rest(resolved, lake, run_id), requests, cost):
        own = cells.filter(pl.col("model").is_in(shard.models))["cell_id"].to_list()
        before = read_run_costs(lake, run_id, targets, own)
        requests = None if shard.max_requests is None else shard.max_requests + before.requests
        cost = None if shard.max_cost is None else shard.max_cost + before.cost_usd
        more.append(replace(shard, max_requests=requests, max_cost=cost))
    return more


def _stopped_models(lake: Lake, run_id: str) -> set[str]:
    """Models with requests that a cap stopped, and that have no reply."""
    replies = lake.scan("responses", run_id).filter(pl.col("purpose") == "subject")
    capped = replies.filter(pl.col("error_class") == CapReached.__name__)
    answered = replies.filter(pl.col("text").is_not_null())
    return set(capped.join(answered, on="case_id", how="anti").select("model").unique().collect()["model"])


def _share_out(made: Sequence[Shard], expected: Forecast, requests: int | None, cost: float | None) -> list[Shard]:
    """The shards with their parts of both caps, in proportion to what is expected of their models."""
    own = {shard.part: [expected.models[model] for model in shard.models] for shard in made}
    counts = divide(requests, {part: sum(model.requests for model in models) for part, models in own.items()})
    money = {part: sum(model.cost_most_usd or 0.0 for model in models) for part, models in own.items()}
    whole = sum(money.values())
    return [
        replace(
            shard,
            max_requests=counts.get(shard.part, requests),
            # who costs nothing spends nothing of it
            max_cost=cost and cost * ((money[shard.part] / whole if whole else 1.0) or 1.0),
        )
        for shard in made
    ]
