"""Blocks of cells that take minutes to ask, and how many of them a provider's limit feeds at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Final

import polars as pl

from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.requirements import ScenarioSettings
from biasgrid.flows.forecast.model import Load, seconds
from biasgrid.flows.forecast.reply_estimates import expected_reply
from biasgrid.flows.runs.lease_pools import lease_order
from biasgrid.flows.runs.prepare import is_batched
from biasgrid.warehouse.schemas import BENCHMARK
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import all_runs

LONGEST_S: Final = 600.0
"""Expected time of a block at most: a worker that ends waits no longer, and other work is taken in between."""
SHORTEST_S: Final = 60.0
"""Blocks are shorter than half of the longest only where the limit feeds several processes that would be idle."""
EACH: Final = 2
"""Blocks for each process that a limit feeds at least, so that unequal ones do not leave one idle at the end."""
PER_SECOND: Final = 100.0
"""Requests that one process carries, with their parsing and landing."""
EARLIER: Final = 3
"""Earlier runs whose replies show how fast a model is."""
FEWEST: Final = 20


@dataclass(frozen=True, slots=True)
class Pace:
    """Mean seconds and tokens, in and out, of one reply of a model."""

    seconds: float
    tokens: float


Handed = tuple[tuple[str, ...], tuple[str, ...]]
"""Models and cells of a shard; no cells: all of its models."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What a night is split by."""

    paces: Mapping[str, Pace] = field(default_factory=dict)
    """As measured in earlier runs, by model."""
    linked: Sequence[Sequence[str]] = ()
    """Ids of cells that ask alike: one process asks that once."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """The concurrency that an operator set for a scope, which all processes share."""
    handed: Sequence[Handed] = ()
    """Shards that were handed out before, which stay as they are: one may still be asked."""


def read_basis(lake: Lake, run_id: str, settings: ScenarioSettings) -> Basis:
    """Measured paces and linked cells of a planned run."""
    return Basis(_measure_paces(lake, run_id), () if settings.reuse == "none" else _find_linked(lake, run_id))


def _measure_paces(lake: Lake, run_id: str) -> dict[str, Pace]:
    earlier = [run.run_id for run in all_runs(lake) if run.kind == BENCHMARK and run.run_id < run_id][-EARLIER:]
    asked = [lake.scan("responses", one) for one in earlier]
    if not asked:
        return {}
    tokens = (pl.col("input_tokens").fill_null(0) + pl.col("output_tokens").fill_null(0)).mean()
    own = pl.concat(asked).filter(
        pl.col("purpose") == "subject", pl.col("reused_from").is_null(), pl.col("latency_ms").is_not_null()
    )
    measured = own.group_by("model").agg(pl.col("latency_ms").mean() / 1000, tokens.alias("tokens"), pl.len())
    rows = measured.filter(pl.col("len") >= FEWEST).collect().select("model", "latency_ms", "tokens").iter_rows()
    return {model: Pace(*mean) for model, *mean in rows}


def _find_linked(lake: Lake, run_id: str) -> list[list[str]]:
    cells = lake.scan("cases", run_id).group_by("request_key").agg(pl.col("cell_id").unique().sort())
    return cells.filter(pl.col("cell_id").list.len() > 1).select("cell_id").unique().collect()["cell_id"].to_list()


def scope_of(target: Target) -> str:
    """Name of the limit that a model's requests share; empty if there is none."""
    return next((pool.scope for pool in lease_order([target])), "")


def estimate_seconds(cells: pl.DataFrame, resolved: ResolvedScenario, basis: Basis) -> list[float]:
    """Expected time of each cell if one process asks it."""
    return [_cell_seconds(resolved, basis, *row) for row in cells.select("model", "input", "planned").iter_rows()]


def _cell_seconds(resolved: ResolvedScenario, basis: Basis, model: str, given: str, planned: int) -> float:
    target = resolved.targets[model]
    pace = _pace(target, given, resolved.settings, basis)
    load = Load(target, planned, planned * pace.tokens, planned * pace.seconds)
    return max(planned / PER_SECOND, seconds([load]))


def _pace(target: Target, given: str, settings: ScenarioSettings, basis: Basis) -> Pace:
    assumed = expected_reply(target, given, settings.max_tokens, {})
    return basis.paces.get(target.model, Pace(assumed.seconds, assumed.tokens))


def count_fed(target: Target, given: str, settings: ScenarioSettings, basis: Basis) -> int | None:
    """How many processes the limit of a model's scope feeds; None if it has none."""
    scope, limits = scope_of(target), target.limits
    if not scope:
        return None
    in_flight = max(_pace(target, given, settings, basis).seconds, 1 / PER_SECOND)
    per_minute = limits.requests_per_minute or inf
    slots = min(basis.limits.get(scope, limits.concurrency), ceil(min(per_minute / 60 * in_flight, 1e9)))
    return max(1, ceil(slots / min(limits.concurrency, ceil(PER_SECOND * in_flight))))


def count_blocks(cells: pl.DataFrame, resolved: ResolvedScenario, basis: Basis) -> dict[str, int]:
    """Into how many blocks the cells of each model are split; they have their expected `seconds`."""
    models = cells.group_by("model", maintain_order=True).agg(pl.col("seconds").sum(), pl.col("input").first())
    rows = [(resolved.targets[model], own_s, given) for model, own_s, given in models.iter_rows()]
    totals: dict[str, float] = {}
    for target, own_s, _ in rows:
        scope = scope_of(target) or target.model
        totals[scope] = totals.get(scope, 0.0) + own_s
    counts: dict[str, int] = {}
    for target, own_s, given in rows:
        fed = count_fed(target, given, resolved.settings, basis) or 1
        blocks = _share_of_blocks(own_s, totals[scope_of(target) or target.model], fed)
        counts[target.model] = 1 if is_batched(target, resolved.settings) else blocks
    return counts


def _share_of_blocks(own_s: float, whole_s: float, fed: int) -> int:
    """Of the blocks of a scope those of one model: equally many for each process that the limit feeds."""
    idle = EACH * fed if fed > 1 else 1
    least = max(ceil(whole_s / LONGEST_S), min(idle, int(whole_s / SHORTEST_S)), 1)
    count = ceil(least / fed) * fed if least > fed else least
    return max(1, round(count * own_s / whole_s)) if whole_s else 1


def split(cells: pl.DataFrame, blocks: int) -> list[pl.DataFrame]:
    """Blocks of about the same time, of cells in their order; what asks alike, of one `group`, stays together."""
    if blocks == 1:
        return [cells]
    groups = cells.group_by("group", maintain_order=True).agg(pl.col("seconds").sum())
    middle = groups["seconds"].cum_sum() - groups["seconds"] / 2
    numbered = groups.select("group", block=(middle * blocks / groups["seconds"].sum()).cast(pl.Int64))
    joined = cells.join(numbered, on="group", maintain_order="left")
    return joined.partition_by("block", maintain_order=True, include_key=False)


def group_linked(cells: Iterable[str], linked: Iterable[Sequence[str]]) -> list[str]:
    """For each cell the first of those with which it shares requests, directly or through others."""
    ids = list(cells)
    first = {cell: cell for cell in ids}

    def root(cell: str) -> str:
        while first[cell] != cell:
            first[cell] = first[first[cell]]
            cell = first[cell]
        return cell

    for one, *others in ([cell for cell in own if cell in first] or [""] for own in linked):
        for other in others:
            first[root(other)] = root(one)
    return [root(cell) for cell in ids]
