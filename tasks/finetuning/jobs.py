"""Fine-tuning jobs as events of `jobs` in the lake; the first event lands before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime

import polars as pl
from ulid import ULID

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.batch.fine_tuning import TuningJob
from biasgrid.warehouse.storage.lake import Lake

KIND = "finetune"
SUBMITTING = "submitting"
SUCCEEDED = "succeeded"
IN_VAIN = ("failed", "cancelled", "canceled", "rejected", "lost")
"""End states without a model: ended by the provider, rejected (never accepted), lost (no longer known there)."""


@dataclass(frozen=True, slots=True)
class Job:
    """A fine-tuning job, as last recorded."""

    run_id: str
    """Id of its order."""
    job_id: str
    provider: str
    model: str
    """The base model, as `provider/model`."""
    recorded_at: datetime
    state: str = SUBMITTING
    provider_job_id: str | None = None
    input_file_id: str | None = None
    """The training file."""
    error_message: str | None = None
    result_model: str | None = None

    @classmethod
    def new(cls, order_id: str, target: Target) -> Job:
        return cls(order_id, str(ULID()), target.provider, target.model, datetime.now(UTC))

    @property
    def began_at(self) -> datetime:
        return ULID.from_str(self.job_id).datetime.astimezone(UTC)

    def updated_from(self, tuning: TuningJob) -> Job:
        """The job updated from the provider's description."""
        return replace(
            self,
            state=tuning.state,
            provider_job_id=tuning.id,
            error_message=tuning.error,
            result_model=tuning.model,
        )

    def record(self, lake: Lake) -> Job:
        """Lands the job as an event and returns it with the time of that event."""
        event_id, now = str(ULID()), datetime.now(UTC)
        job = replace(self, recorded_at=now)
        row = {field.name: getattr(job, field.name) for field in fields(job)}
        row |= {"event_id": event_id, "kind": KIND}
        lake.write("jobs", job.run_id, f"{job.job_id}-{event_id}", pl.DataFrame([row]))
        return job


def find_open_job(lake: Lake, order_id: str) -> Job | None:
    """The newest job of an order that has or may still produce a model, or None."""
    newest = lake.newest("jobs", order_id).filter(pl.col("kind") == KIND, ~pl.col("state").is_in(IN_VAIN))
    names = [field.name for field in fields(Job)]
    rows = newest.sort("job_id").select(names).rows(named=True)
    return Job(**rows[-1]) if rows else None
