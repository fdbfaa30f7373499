"""State of one model's pass: waiting keys and jobs at the provider."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ulid import ULID

from biasgrid.catalogs.schema.models import Batching, Target
from biasgrid.tasks.connectors.api import ModelStopped
from biasgrid.tasks.connectors.batch.lines import SoughtBatch
from biasgrid.tasks.prompt.batch.jobs import Job, unsettled_jobs
from biasgrid.warehouse.storage.errors import storing
from biasgrid.warehouse.storage.lake import Lake


@dataclass
class Pool:
    """Every open key is in `waiting` or in one job of `jobs`; each change of a job lands as an event."""

    lake: Lake
    run_id: str
    target: Target
    waiting: dict[str, None] = field(default_factory=dict)
    """Keys without a job, in submission order."""
    jobs: dict[str, Job] = field(default_factory=dict)
    """Jobs that may still return replies, by id."""
    batches_taken: Counter[str] = field(default_factory=Counter)
    """Number of batches of this pass that contained each key."""
    stopped: ModelStopped | None = None
    """Why no more batches are submitted."""

    @property
    def limits(self) -> Batching:
        return self.target.batch or Batching()

    @property
    def is_busy(self) -> bool:
        return bool(self.jobs) or (bool(self.waiting) and self.stopped is None)

    async def take_up(self, open_keys: Iterable[str]) -> None:
        """Loads unsettled jobs of earlier processes; all keys they do not cover wait."""
        left = await asyncio.to_thread(unsettled_jobs, self.lake, self.run_id, self.target.model)
        self.jobs = {job.job_id: job for job in left}
        covered = {key for job in left for key in job.request_keys}
        self.waiting = dict.fromkeys(key for key in open_keys if key not in covered)

    async def cover(self, keys: Sequence[str]) -> Job:
        """A new job for waiting keys."""
        job = await self.record(Job.new(self.run_id, self.target, keys))
        for key in keys:
            del self.waiting[key]
        return job

    async def record(self, job: Job) -> Job:
        recorded = await asyncio.to_thread(job.record, self.lake)
        self.jobs[job.job_id] = recorded
        return recorded

    async def settle(self, job: Job, state: str, why: str | None = None, *, again: Iterable[str] = ()) -> None:
        """Ends a job; its keys in `again` return to the front of the queue."""
        await asyncio.to_thread(replace(job, state=state, error_message=why).record, self.lake)
        self.jobs.pop(job.job_id, None)
        self.waiting = dict.fromkeys(again) | self.waiting

    def seek(self, job: Job) -> SoughtBatch:
        """What is known of a job's batch."""
        others = {other.provider_job_id for other in self.jobs.values() if other.job_id != job.job_id}
        known = frozenset(filter(None, others))
        return SoughtBatch(job.job_id, job.began_at, len(job.request_keys), known)

    def stop(self, why: ModelStopped) -> None:
        self.stopped = self.stopped or why

    def unanswered_keys(self) -> list[str]:
        """Every key without an answer."""
        return [*self.waiting, *(key for job in self.jobs.values() for key in job.request_keys)]

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A temporary file; if the process is killed, it is removed when the run is recovered."""
        path = self.lake.folder("jobs", self.run_id) / f".{ULID()}.partial"
        with storing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)
