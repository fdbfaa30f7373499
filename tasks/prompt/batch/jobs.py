"""Batches as events of `jobs` in the lake; the first event lands before anything is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ulid import ULID

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.batch.lines import Batch
from biasgrid.tasks.connectors.batch.recorded_job import RecordedJob
from biasgrid.warehouse.storage.lake import Lake

KIND = "batch"
COLLECTED = "collected"
SETTLED = (COLLECTED, "failed", "rejected", "lost")
"""States without further replies: failed as a whole, rejected by the provider, or lost there."""


@dataclass(frozen=True, slots=True)
class Job(RecordedJob):
    """A batch, as last recorded."""

    kind = KIND

    request_keys: tuple[str, ...] = ()
    output_file_id: str | None = None
    error_file_id: str | None = None
    completed: int | None = None
    failed: int | None = None

    @classmethod
    def new(cls, run_id: str, target: Target, request_keys: Sequence[str]) -> Job:
        now = datetime.now(UTC)
        return cls(run_id, str(ULID()), target.provider, target.model, now, request_keys=tuple(request_keys))

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


def unsettled_jobs(lake: Lake, run_id: str, model: str | None = None) -> list[Job]:
    """Jobs of a run, or of one of its models, that may still return replies, oldest first."""
    jobs = Job.newest(lake, run_id, SETTLED, model)
    return [replace(job, request_keys=tuple(job.request_keys)) for job in jobs]


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
