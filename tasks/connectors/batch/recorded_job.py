"""What a provider does for a run over hours, as events of `jobs` in the lake."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Self

import polars as pl
from ulid import ULID

from biasgrid.warehouse.event_ids import EVENT_IDS
from biasgrid.warehouse.storage.lake import Lake

SUBMITTING = "submitting"


@dataclass(frozen=True, slots=True)
class RecordedJob:
    """A job, as last recorded."""

    kind = ""

    run_id: str
    """The run, or the order of a fine-tuning job."""
    job_id: str
    provider: str
    model: str
    """`provider/model`; of a fine-tuning job the base model."""
    recorded_at: datetime
    state: str = SUBMITTING
    provider_job_id: str | None = None
    input_file_id: str | None = None
    """Its requests, or the training file."""
    error_message: str | None = None

    @property
    def began_at(self) -> datetime:
        return ULID.from_str(self.job_id).datetime.astimezone(UTC)

    def record(self, lake: Lake) -> Self:
        """Lands the job as an event and returns it with the time of that event."""
        event_id, now = EVENT_IDS.make(), datetime.now(UTC)
        job = replace(self, recorded_at=now)
        row = {field.name: getattr(job, field.name) for field in fields(job)}
        rows = pl.DataFrame([row | {"event_id": event_id, "kind": self.kind}])
        lake.write("jobs", job.run_id, f"{job.job_id}-{event_id}", rows)
        return job

    @classmethod
    def newest(cls, lake: Lake, run_id: str, settled: tuple[str, ...], model: str | None = None) -> list[Self]:
        """Jobs of a run, or of one of its models, in none of the states `settled`, oldest first."""
        rows = lake.newest("jobs", run_id).filter(pl.col("kind") == cls.kind, ~pl.col("state").is_in(settled))
        if model is not None:
            rows = rows.filter(pl.col("model") == model)
        names = [field.name for field in fields(cls)]
        return [cls(**row) for row in rows.sort("job_id").select(names).iter_rows(named=True)]
