"""What a run's batches that are at their providers can still cost: counted before anything else is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.prompt.batch.cells import BatchDesk
from biasgrid.tasks.prompt.batch.jobs import unsettled
from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, slots=True)
class Outstanding:
    job_id: str
    model: str
    requests: int
    """Whose answers have not landed."""
    most_usd: float


def outstanding(lake: Lake, run_id: str, targets: Mapping[str, Target], *, shares: bool) -> Iterator[Outstanding]:
    """Each job of a run that may still bring replies. `shares`: as of biasgrid.tasks.prompt.batch.model."""
    jobs = [job for job in unsettled(lake, run_id) if job.model in targets]
    for model in dict.fromkeys(job.model for job in jobs):
        desk = BatchDesk(lake, run_id, _cells(lake, run_id, model), targets[model], None, shares=shares)
        answered = desk.answered_keys()
        for job in (job for job in jobs if job.model == model):
            unanswered = [key for key in job.request_keys if key not in answered]
            yield Outstanding(job.job_id, model, len(unanswered), desk.most_usd(unanswered))


def _cells(lake: Lake, run_id: str, model: str) -> list[str]:
    cells = lake.newest("cells", run_id).filter(pl.col("model") == model)
    return cells["cell_id"].to_list()
