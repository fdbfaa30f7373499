"""Requests and costs of a run so far, for caps that cover all its passes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.client.run_budget import most_usd
from biasgrid.tasks.connectors.client.sender import MAYBE_CHARGED
from biasgrid.tasks.connectors.rows import to_request
from biasgrid.tasks.prompt.batch.cells import BatchCells
from biasgrid.tasks.prompt.batch.jobs import unsettled_jobs
from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, slots=True)
class OutstandingJob:
    job_id: str
    model: str
    requests: int
    """Requests without a landed answer."""
    most_usd: float


def outstanding_jobs(
    lake: Lake, run_id: str, targets: Mapping[str, Target], *, shares: bool
) -> Iterator[OutstandingJob]:
    """Jobs of a run that may still return replies; `shares` as in biasgrid.tasks.prompt.batch.model."""
    jobs = [job for job in unsettled_jobs(lake, run_id) if job.model in targets]
    for model in dict.fromkeys(job.model for job in jobs):
        desk = BatchCells(lake, run_id, _model_cells(lake, run_id, model), targets[model], None, shares=shares)
        answered = desk.answered_keys()
        for job in (job for job in jobs if job.model == model):
            unanswered = [key for key in job.request_keys if key not in answered]
            yield OutstandingJob(job.job_id, model, len(unanswered), desk.most_usd(unanswered))


def _model_cells(lake: Lake, run_id: str, model: str) -> list[str]:
    cells = lake.newest("cells", run_id).filter(pl.col("model") == model)
    return cells["cell_id"].to_list()


@dataclass(frozen=True, slots=True)
class RunCosts:
    requests: int
    """Requests sent, including retries and those to a judge."""
    cost_usd: float
    """US dollars; the maximum for replies that were lost or report no tokens."""
    longest: dict[str, int]
    """Output tokens of the longest reply, by model."""


def read_run_costs(
    lake: Lake, run_id: str, targets: Mapping[str, Target], cells: Collection[str] | None = None
) -> RunCosts:
    """Costs of a run, or of some of its `cells`; `targets` are its models by name, including a judge.

    A failed row counts only its last error."""
    own = lake.scan("responses", run_id).filter(pl.col("reused_from").is_null())
    if cells is not None:
        own = own.filter(pl.col("cell_id").is_in(list(cells)))
    requests, known_usd = own.select(pl.col("attempts").sum(), pl.col("cost_usd").sum()).collect().row(0)
    longest = own.group_by("model").agg(pl.col("output_tokens").max()).drop_nulls().collect()
    lost_usd = _lost_usd(own, {model: target for model, target in targets.items() if target.prices})
    return RunCosts(int(requests or 0), float(known_usd or 0.0) + lost_usd, dict(longest.iter_rows()))


def _lost_usd(own: pl.LazyFrame, priced: Mapping[str, Target]) -> float:
    """Maximum charge beyond the known costs."""
    lost = pl.col("error_class").is_in([error.__name__ for error in MAYBE_CHARGED]) & ~BATCHED
    rows = own.filter(
        pl.col("cost_usd").is_null(),
        pl.col("attempts") > 0,
        pl.col("model").is_in(list(priced)),
        pl.col("text").is_not_null() | lost,
    ).select("model", "messages", "parameters", "request_key", "sample", "attempts", "text", batched=BATCHED)
    return sum(_most_usd(row, priced[row["model"]]) for row in rows.collect().iter_rows(named=True))


BATCHED = pl.col("latency_ms").is_null()
"""Rows of batch requests; their failed lines are not charged."""


def _most_usd(row: dict[str, Any], target: Target) -> float:
    """Maximum cost of a row: its last attempt if it has a reply, else all attempts."""
    share = 1 - target.batch.discount if row["batched"] and target.batch else 1.0
    return share * most_usd(to_request(row), target) * (1 if row["text"] is not None else row["attempts"])
