"""What waits to be asked in batches, and which jobs are at the provider: the state of one model's pass."""

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
    """Keys that no job covers, in the order in which they are asked."""
    jobs: dict[str, Job] = field(default_factory=dict)
    """Jobs that may still bring replies, by id."""
    batches_taken: Counter[str] = field(default_factory=Counter)
    """How many batches of this pass each key has been through."""
    stopped: ModelStopped | None = None
    """Why nothing further is submitted."""

    @property
    def limits(self) -> Batching:
        return self.target.batch or Batching()

    @property
    def is_busy(self) -> bool:
        return bool(self.jobs) or (bool(self.waiting) and self.stopped is None)

    async def take_up(self, open_keys: Iterable[str]) -> None:
        """Begins with the jobs that an earlier process left; what they do not cover waits."""
        left = await asyncio.to_thread(unsettled_jobs, self.lake, self.run_id, self.target.model)
        self.jobs = {job.job_id: job for job in left}
        covered = {key for job in left for key in job.request_keys}
        self.waiting = dict.fromkeys(key for key in open_keys if key not in covered)

    async def cover(self, keys: Sequence[str]) -> Job:
        """A new job for keys that wait."""
        job = await self.record(Job.new(self.run_id, self.target, keys))
        for key in keys:
            del self.waiting[key]
        return job

    async def record(self, job: Job) -> Job:
        recorded = await asyncio.to_thread(job.record, self.lake)
        self.jobs[job.job_id] = recorded
        return recorded

    async def settle(self, job: Job, state: str, why: str | None = None, *, again: Iterable[str] = ()) -> None:
        """Ends a job; those of its keys that are asked `again` wait before the others."""
        await asyncio.to_thread(replace(job, state=state, error_message=why).record, self.lake)
        self.jobs.pop(job.job_id, None)
        self.waiting = dict.fromkeys(again) | self.waiting

    def stop(self, why: ModelStopped) -> None:
        self.stopped = self.stopped or why

    def unanswered(self) -> list[str]:
        """Every key that nothing has come of."""
        return [*self.waiting, *(key for job in self.jobs.values() for key in job.request_keys)]

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A file that is gone afterwards; one that a kill leaves is swept when the run is recovered."""
        path = self.lake.folder("jobs", self.run_id) / f".{ULID()}.partial"
        with storing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)
