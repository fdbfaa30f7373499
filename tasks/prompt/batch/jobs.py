"""Batches as events of `jobs` in the lake; the first event lands before anything is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime

import polars as pl
from ulid import ULID

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.batch.lines import Batch
from biasgrid.warehouse.storage.lake import Lake

KIND = "batch"
SUBMITTING = "submitting"
COLLECTED = "collected"
SETTLED = (COLLECTED, "failed", "rejected", "lost")
"""States without further replies: failed as a whole, rejected by the provider, or lost there."""


@dataclass(frozen=True, slots=True)
class Job:
    """A batch, as last recorded."""

    run_id: str
    job_id: str
    provider: str
    model: str
    request_keys: tuple[str, ...]
    recorded_at: datetime
    state: str = SUBMITTING
    provider_job_id: str | None = None
    input_file_id: str | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    completed: int | None = None
    failed: int | None = None
    error_message: str | None = None

    @classmethod
    def new(cls, run_id: str, target: Target, request_keys: Sequence[str]) -> Job:
        now = datetime.now(UTC)
        return cls(run_id, str(ULID()), target.provider, target.model, tuple(request_keys), now)

    @property
    def began_at(self) -> datetime:
        return ULID.from_str(self.job_id).datetime.astimezone(UTC)

    @property
    def files(self) -> list[str]:
        """Ids of its files at the provider."""
        named = (self.input_file_id, self.output_file_id, self.error_file_id)
        return [file_id for file_id in named if file_id]

    def update_from(self, batch: Batch) -> Job:
        """The job updated from the provider's description."""
        return replace(
            self,
            state=batch.state,
            provider_job_id=batch.id,
            output_file_id=batch.output_file_id,
            error_file_id=batch.error_file_id,
            completed=batch.completed,
            failed=batch.failed,
        )

    def record(self, lake: Lake) -> Job:
        """Lands the job as an event and returns it with the time of that event."""
        event_id, now = str(ULID()), datetime.now(UTC)
        job = replace(self, recorded_at=now)
        row = {field.name: getattr(job, field.name) for field in fields(job)}
        row |= {"event_id": event_id, "kind": KIND, "request_keys": list(job.request_keys)}
        lake.write("jobs", job.run_id, f"{job.job_id}-{event_id}", pl.DataFrame([row]))
        return job


def unsettled_jobs(lake: Lake, run_id: str, model: str | None = None) -> list[Job]:
    """Jobs of a run, or of one of its models, that may still return replies, oldest first."""
    newest = lake.newest("jobs", run_id).filter(pl.col("kind") == KIND, ~pl.col("state").is_in(SETTLED))
    if model is not None:
        newest = newest.filter(pl.col("model") == model)
    names = [field.name for field in fields(Job)]
    rows = newest.sort("job_id").select(names).iter_rows(named=True)
    return [Job(**{**row, "request_keys": tuple(row["request_keys"])}) for row in rows]


def requests_waiting(lake: Lake, run_id: str) -> int:
    """Number of requests in batches whose replies have not landed."""
    return sum(len(job.request_keys) for job in unsettled_jobs(lake, run_id))


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a model's batches."""

    model: str
    jobs: tuple[Job, ...]
    """Jobs whose replies have not landed."""

    @property
    def requests(self) -> int:
        return sum(len(job.request_keys) for job in self.jobs)

    @property
    def done(self) -> int:
        """Requests answered or failed, as reported by the provider."""
        return sum((job.completed or 0) + (job.failed or 0) for job in self.jobs)

    @property
    def share(self) -> float:
        """Share of requests done, 0–1."""
        return min(1.0, self.done / self.requests) if self.requests else 1.0

    def __str__(self) -> str:
        states = Counter(job.state for job in self.jobs)
        listed = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none at the provider"
        return f"{self.model}: batches: {listed}; {self.done:,} of {self.requests:,} requests done"


Report = Callable[[Progress], Awaitable[None]]


async def ignore_progress(progress: Progress) -> None:
    """Ignores progress."""
