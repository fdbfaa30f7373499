"""Splits a nightly run into shards, blocks of cells with their shares of the caps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.flows.scheduled.blocks import (
    Basis,
    count_blocks,
    count_fed,
    estimate_seconds,
    group_linked,
    scope_of,
    split,
)
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
    cells: tuple[str, ...] = ()
    """Ids of its cells; empty: all of its models."""
    nth: str = ""
    """Which block of its model it is, as in `2 of 8`."""
    seconds: float = 0.0
    """Expected time of one process."""
    scope: str = ""
    """The limit that its requests share with those of other shards."""
    fed: int | None = None
    """How many shards that limit feeds at a time; None: all."""

    @property
    def part(self) -> str:
        """Name in locks and tags, stable across redispatches."""
        return part_of(self.models, self.cells)

    @property
    def title(self) -> str:
        """Display title, as in `gpt-4o`, `gpt-4o · 2 of 8` or `gpt-4o and 2 more`."""
        first, *more = (model.partition("/")[2] for model in self.models)
        nth = f" · {self.nth}" if self.nth else ""
        return f"{first} and {len(more)} more" if more else f"{first}{nth}"

    def select(self, cells: pl.DataFrame) -> pl.DataFrame:
        """Its own of planned cells."""
        own = cells.filter(pl.col("model").is_in(self.models))
        return own.filter(pl.col("cell_id").is_in(self.cells)) if self.cells else own


def part_of(models: Sequence[str], cells: Sequence[str] = ()) -> str:
    """Name of a part, independent of the order of its models and cells."""
    return content_hash([*sorted(models), *sorted(cells)])[:12]


def shards(
    cells: pl.DataFrame, resolved: ResolvedScenario, by: By = "block", basis: Basis | None = None
) -> list[Shard]:
    """Blocks of each model's cells, or one shard per model or per provider, the longest first, with shares of the
    caps. Raises UserError if a cap leaves a shard nothing."""
    settings, expected = resolved.settings, None
    if settings.max_cost is not None or settings.max_requests is not None:
        from biasgrid.flows.benchmark.forecast import forecast

        expected = forecast(resolved, brief=True)
    made = [*_split(cells, resolved, by, basis or Basis(), _affordable(expected, resolved))]
    made.sort(key=lambda shard: -shard.seconds)
    if expected is None:
        return made
    shared = _share_out(made, expected, _planned_parts(made), settings.max_requests, settings.max_cost)
    if empty := [shard for shard in shared if shard.max_requests == 0]:
        names = ", ".join(dict.fromkeys(model for shard in empty for model in shard.models))
        what = f"`max_requests: {settings.max_requests}` leaves no request for `{names}`"
        raise UserError(Problem(what, "max_requests", "raise it, or ask fewer models"))
    return shared


def _affordable(expected: Forecast | None, resolved: ResolvedScenario) -> float:
    """The part of what is planned that the caps pay for."""
    if expected is None:
        return 1.0
    requests, cost = resolved.settings.max_requests, resolved.settings.max_cost
    by_requests = 1.0 if requests is None else requests / max(expected.requests, 1)
    return min(1.0, by_requests, cost / expected.cost_usd if cost is not None and expected.cost_usd else 1.0)


def _planned_parts(made: Sequence[Shard]) -> dict[str, float]:
    """What part of its models' cases each shard has."""
    whole: dict[tuple[str, ...], int] = {}
    for shard in made:
        whole[shard.models] = whole.get(shard.models, 0) + shard.planned
    return {shard.part: shard.planned / max(whole[shard.models], 1) for shard in made}


def _split(
    cells: pl.DataFrame, resolved: ResolvedScenario, by: By, basis: Basis, affordable: float
) -> Iterator[Shard]:
    """The shards without their shares of the caps: those handed out before as they were, and the rest split."""
    estimated = pl.Series("seconds", estimate_seconds(cells, resolved, basis), pl.Float64) * affordable
    every = rest = cells.with_columns(estimated, pl.Series("group", group_linked(cells["cell_id"], basis.linked)))
    for models, ids in basis.handed:
        before = Shard(models, 0, cells=ids)
        if not (own := before.select(rest)).is_empty():
            rest = rest.join(own, on="cell_id", how="anti", maintain_order="left")
            yield _measure(before, own, resolved, basis)
    if by != "block":
        for own in rest.partition_by(by, maintain_order=True):
            yield _measure(_name(own, every), own, resolved, basis)
        return
    counts = count_blocks(rest, resolved, basis)
    for own in rest.partition_by("model", maintain_order=True):
        blocks = split(own, counts[own["model"][0]])
        for nth, block in enumerate(blocks, 1):
            width = len(str(len(blocks)))  # so that they sort by name
            named = _name(block, every, f"{nth:0{width}} of {len(blocks)}" if len(blocks) > 1 else "")
            yield _measure(named, block, resolved, basis)


def _name(own: pl.DataFrame, every: pl.DataFrame, nth: str = "") -> Shard:
    """The shard of these cells, named by its models alone if it has all that theirs have of `every`."""
    models = tuple(own["model"].unique().sort())
    is_all = every.filter(pl.col("model").is_in(models)).height == own.height
    return Shard(models, 0, cells=() if is_all else tuple(own["cell_id"]), nth=nth)


def _measure(shard: Shard, own: pl.DataFrame, resolved: ResolvedScenario, basis: Basis) -> Shard:
    """With its size, and the limit that bounds how many are asked at a time."""
    scope: str = own["provider"][0]
    fed: int | None = 1
    if len(shard.models) == 1:
        target = resolved.targets[shard.models[0]]
        scope, fed = scope_of(target), count_fed(target, own["input"][0], resolved.settings, basis)
    planned, expected_s = int(own["planned"].sum()), float(own["seconds"].sum())
    return replace(shard, planned=planned, seconds=expected_s, scope=scope, fed=fed)


def share_rest(lake: Lake, run_id: str, handed: Sequence[Shard], resolved: ResolvedScenario) -> list[Shard]:
    """The shards that a cap stopped, with what the others have left of the caps; empty where nothing is left."""
    from biasgrid.flows.benchmark.forecast import forecast_rest

    settings, cells = resolved.settings, planned_cells(lake, run_id)
    stopped = cells.filter(pl.col("cell_id").is_in(_stopped_cells(lake, run_id)))
    waiting = [shard for shard in handed if not shard.select(stopped).is_empty()]
    if not waiting:
        return []
    targets = {target.model: target for target in resolved.asked}
    spent = read_run_costs(lake, run_id, targets)
    requests = None if settings.max_requests is None else settings.max_requests - spent.requests
    cost = None if settings.max_cost is None else settings.max_cost - spent.cost_usd
    if (requests is not None and requests <= 0) or (
        cost is not None and cost < spent.cost_usd / max(spent.requests, 1)
    ):
        return []
    more = []
    weights = _open_parts(lake, run_id, waiting, cells)
    for shard in _share_out(waiting, forecast_rest(resolved, lake, run_id), weights, requests, cost):
        before = read_run_costs(lake, run_id, targets, shard.select(cells)["cell_id"].to_list())
        requests = None if shard.max_requests is None else shard.max_requests + before.requests
        cost = None if shard.max_cost is None else shard.max_cost + before.cost_usd
        more.append(replace(shard, max_requests=requests, max_cost=cost))
    return more


def _stopped_cells(lake: Lake, run_id: str) -> list[str]:
    """Cells with requests that a cap stopped, and that have no reply."""
    replies = lake.scan("responses", run_id).filter(pl.col("purpose") == "subject")
    capped = replies.filter(pl.col("error_class") == CapReached.__name__)
    answered = replies.filter(pl.col("text").is_not_null())
    return (
        capped.join(answered, on="case_id", how="anti").select("cell_id").unique().collect()["cell_id"].to_list()
    )


def _open_parts(lake: Lake, run_id: str, waiting: Sequence[Shard], cells: pl.DataFrame) -> dict[str, float]:
    """What part of its models' cases without a reply each shard has."""
    answered = lake.scan("responses", run_id).filter(pl.col("text").is_not_null(), pl.col("purpose") == "subject")
    asked = lake.scan("cases", run_id).select("case_id", "cell_id")
    counts = asked.join(answered, on="case_id", how="anti").group_by("cell_id").len().collect()
    left = cells.join(counts, on="cell_id")
    own = {shard.part: int(shard.select(left)["len"].sum()) for shard in waiting}
    whole = {shard.part: int(Shard(shard.models, 0).select(left)["len"].sum()) for shard in waiting}
    return {part: count / max(whole[part], 1) for part, count in own.items()}


def _share_out(
    made: Sequence[Shard], expected: Forecast, parts: Mapping[str, float], requests: int | None, cost: float | None
) -> list[Shard]:
    """The shards with their parts of both caps, in proportion to what is expected of each."""
    own = {
        shard.part: [expected.models[model].share(parts[shard.part]) for model in shard.models] for shard in made
    }
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
