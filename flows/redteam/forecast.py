"""Estimates requests, tokens, cost and time of all models in a red team."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from biasgrid.catalogs.scenario.targets import ResolvedAttack
from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.forecast.model import Amounts, AsJson, ModelForecast, seconds
from biasgrid.flows.forecast.reply_estimates import observed_replies
from biasgrid.flows.forecast.totals import Forecast, leave_out, replace_models, totals
from biasgrid.flows.redteam.request_estimate import EXTENTS, Extent, attack_load
from biasgrid.tasks.connectors.client.run_budget import Planned
from biasgrid.tasks.connectors.workers import SLACK
from biasgrid.tasks.redteam.land import SESSION
from biasgrid.tasks.redteam.session import PURPOSES, Speaker

if TYPE_CHECKING:
    from biasgrid.warehouse.storage.lake import Lake

PARTS: Final[tuple[Speaker, ...]] = ("target", "attacker", "judge")


@dataclass(frozen=True, slots=True)
class PartForecast:
    """Forecast of a model in one of its roles."""

    part: Speaker
    model: str
    least: ModelForecast
    resisted: ModelForecast
    most: ModelForecast


@dataclass(frozen=True, slots=True)
class AttackForecast(AsJson):
    """Of all sessions, at three extents (request_estimate.py). Retries of
    temporary failures come on top; a permanent failure ends its session, and withheld replies are not judged."""

    sessions: int
    by_cell: list[dict[str, Any]]
    """Sessions by language and strategy, and their messages at each extent."""
    parts: list[PartForecast]
    least: Forecast
    resisted: Forecast
    most: Forecast

    @property
    def likely(self) -> Forecast:
        return self.resisted

    @property
    def planned(self) -> dict[str, Planned]:
        """What each model may be sent."""
        return self.most.planned


def forecast(
    resolved: ResolvedAttack, lake: Lake | None = None, *, brief: bool = False, ended: Collection[str] = ()
) -> AttackForecast:
    """Forecast of a checked red team but for `ended` sessions, with reply lengths from `lake`."""
    targets = list(resolved.targets.values())
    observed = observed_replies(lake, targets, resolved.settings.max_tokens) if lake else {}
    load = attack_load(resolved, observed, ended)
    parts = _parts(load, {target.model: target for target in resolved.asked})
    least, resisted, most = (_sum_extent(load, parts, extent, resolved) for extent in EXTENTS)
    cells = _cells(load)
    least, resisted = (
        leave_out(expected, _sizes(cells, f"{extent}_messages"), resolved.settings)
        for expected, extent in ((least, "least"), (resisted, "resisted"))
    )
    return AttackForecast(sum(cell["sessions"] for cell in cells), cells, parts, least, resisted, most)


def forecast_rest(resolved: ResolvedAttack, lake: Lake, run_id: str) -> AttackForecast:
    """Forecast of a resumed run: open sessions less stored replies, at least 0; crash journals count as open."""
    over = lake.scan("verdicts", run_id).filter(pl.col("level") == SESSION, pl.col("outcome") != "error")
    ended = set(over.select("case_id").collect()["case_id"])
    expected, answered = forecast(resolved, lake, ended=ended), _count_answers(lake, run_id, ended)
    parts = [_less(part, answered.get((PURPOSES[part.part], part.model), 0)) for part in expected.parts]
    least, resisted, most = (
        replace_models(getattr(expected, extent), _by_model(parts, extent)) for extent in EXTENTS
    )
    return replace(expected, parts=parts, least=least, resisted=resisted, most=most)


def _count_answers(lake: Lake, run_id: str, ended: Collection[str]) -> dict[tuple[str, str], int]:
    """Requests with a reply by purpose and model, in open sessions."""
    replies = lake.scan("responses", run_id).filter(
        pl.col("text").is_not_null(), pl.col("session").is_not_null(), ~pl.col("session").is_in(list(ended))
    )
    counted = replies.group_by("purpose", "model").agg(pl.col("request_key").n_unique()).collect()
    return {(purpose, model): count for purpose, model, count in counted.iter_rows()}


def _less(part: PartForecast, answered: int) -> PartForecast:
    resisted, most = part.resisted.less(answered), part.most.less(answered)
    return replace(part, least=part.least.share(0), resisted=resisted, most=most)


AMOUNTS = ("requests", "input_tokens", "output_tokens", "most_output_tokens", "waiting_s")


def _parts(load: pl.DataFrame, known: Mapping[str, Target]) -> list[PartForecast]:
    """Each model in each of its roles, targets first."""
    kinds = load.group_by("part", "model", "extent", "strategy").agg(pl.col(AMOUNTS).sum(), pl.col("seen").max())
    sums = kinds.group_by("part", "model", "extent").agg(pl.col(AMOUNTS).sum(), pl.col("seen").sum())
    found = {(row["part"], row["model"], row["extent"]): row for row in sums.to_dicts()}
    names = sorted({(PARTS.index(part), model) for part, model, _ in found})
    return [
        PartForecast(
            PARTS[place],
            model,
            *(_model(known[model], found.get((PARTS[place], model, extent), NOTHING)) for extent in EXTENTS),
        )
        for place, model in names
    ]


NOTHING: Final[Mapping[str, Any]] = dict.fromkeys((*AMOUNTS, "seen"), 0)


def _model(target: Target, row: Mapping[str, Any]) -> ModelForecast:
    amounts = _amounts(row)
    return amounts.forecast(target, seconds=seconds([amounts.load(target)]))


def _amounts(row: Mapping[str, Any]) -> Amounts:
    return Amounts(**{name: row[name] for name in AMOUNTS}, seen=row.get("seen", 0))


def _sum_extent(
    load: pl.DataFrame, parts: list[PartForecast], extent: Extent, resolved: ResolvedAttack
) -> Forecast:
    own, known = load.filter(pl.col("extent") == extent), {target.model: target for target in resolved.asked}
    by_model = own.group_by("model").agg(pl.col(AMOUNTS).sum()).to_dicts()
    at_limits = seconds(_amounts(row).load(known[row["model"]]) for row in by_model)
    sessions = _sessions(own)
    return Forecast(
        instances=int(sessions["sessions"].sum()),
        by_concern={},
        by_cell=[],
        seconds=round(max(at_limits, _conversation_seconds(sessions, resolved)), 1),
        judge=None,
        **totals(_by_model(parts, extent)),
    )


def _conversation_seconds(sessions: pl.DataFrame, resolved: ResolvedAttack) -> float:
    """Seconds of all conversations with each target's parallel sessions, all targets at once."""
    longest = max((sessions["waiting_s"] / sessions["sessions"]).to_list(), default=0.0)
    by_target = dict(sessions.group_by("target").agg(pl.col("waiting_s").sum()).iter_rows())
    shares = (
        waiting / (SLACK * resolved.targets[model].limits.concurrency) for model, waiting in by_target.items()
    )
    return float(max(longest, *shares, 0.0))


def _by_model(parts: list[PartForecast], extent: Extent) -> dict[str, ModelForecast]:
    """Forecast per model over all of its roles."""
    found = dict[str, list[ModelForecast]]()
    for part in parts:
        found.setdefault(part.model, []).append(getattr(part, extent))
    return {model: _sum_parts(own) for model, own in found.items()}


def _sum_parts(parts: list[ModelForecast]) -> ModelForecast:
    costs, most = ([getattr(part, name) for part in parts] for name in ("cost_usd", "cost_most_usd"))
    return ModelForecast(
        requests=sum(part.requests for part in parts),
        input_tokens=sum(part.input_tokens for part in parts),
        input_is_exact=False,
        output_tokens=sum(part.output_tokens for part in parts),
        most_output_tokens=sum(part.most_output_tokens for part in parts),
        output_seen=sum(part.output_seen for part in parts),
        cost_usd=None if None in costs else sum(costs),
        cost_most_usd=None if None in most else sum(most),
        batch=False,
        seconds=round(sum(part.seconds for part in parts), 1),
    )


def _sessions(load: pl.DataFrame) -> pl.DataFrame:
    """One row per extent and kind of session: count, messages to the target, total seconds."""
    messages = pl.col("requests").filter(pl.col("part") == "target").sum().alias("messages")
    amounts = [pl.col("sessions").first(), messages, pl.col("waiting_s").sum()]
    by = ["extent", "kind", "language", "strategy", "target"]
    return load.group_by(by, maintain_order=True).agg(amounts)


def _sizes(cells: list[dict[str, Any]], size: str) -> Iterator[tuple[str, int]]:
    return ((f"{cell['language']} · {cell['strategy']}", cell[size]) for cell in cells)


def _cells(load: pl.DataFrame) -> list[dict[str, Any]]:
    """Counts by language and strategy, in execution order."""
    of = [
        pl.col("messages").filter(pl.col("extent") == extent).sum().alias(f"{extent}_messages")
        for extent in EXTENTS
    ]
    count = pl.col("sessions").filter(pl.col("extent") == "most").sum()
    return _sessions(load).group_by("language", "strategy", maintain_order=True).agg(count, *of).to_dicts()
