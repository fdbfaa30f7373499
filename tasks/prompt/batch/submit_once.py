"""Giving a job to the provider: one batch comes of it, whatever happens on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from biasgrid.tasks.connectors.api import Terminal
from biasgrid.tasks.connectors.batch.lines import Batch
from biasgrid.tasks.connectors.client.retry import PollPolicy, Unreachable
from biasgrid.tasks.prompt.batch.jobs import Job
from biasgrid.warehouse.storage.lake import Lake

if TYPE_CHECKING:
    from biasgrid.tasks.connectors.batch.batches import BatchApi


class NotTaken(Exception):
    """The provider refused a job; no batch came of it. `why` is what it said."""

    def __init__(self, why: Terminal) -> None:
        super().__init__(why)
        self.why = why


async def hand_over(
    lake: Lake,
    job: Job,
    batches: BatchApi,
    patience: PollPolicy,
    *,
    input_file: Callable[[], Path],
    seen_before: bool,
) -> Job:
    """Upload a job's requests and create its batch; returns the job as the provider took it.

    `seen_before`: an earlier process began with this job and may have created its batch. `input_file` is asked
    for where a file must be uploaded. Raises NotTaken, or a ModelStopped that leaves open whether it was taken.
    """
    found = await patience.steadily(partial(batches.find, job.job_id, job.began_at)) if seen_before else None
    if found is None:
        if job.input_file_id is None:
            job = await _uploaded(lake, job, batches, patience, input_file)
        found = await patience.steadily(_Creation(job, batches))
    return await asyncio.to_thread(job.as_told(found).record, lake)


async def _uploaded(
    lake: Lake, job: Job, batches: BatchApi, patience: PollPolicy, input_file: Callable[[], Path]
) -> Job:
    path = await asyncio.to_thread(input_file)
    try:
        file_id = await patience.steadily(partial(batches.upload, path, f"biasgrid-{job.job_id}.jsonl"))
    except Unreachable:
        raise
    except Terminal as refused:
        raise NotTaken(refused) from None
    return await asyncio.to_thread(replace(job, input_file_id=file_id).record, lake)


class _Creation:
    """Creates a batch when first called. A further call looks for it first: what was answered by a broken
    connection or a time-out may have been done all the same."""

    def __init__(self, job: Job, batches: BatchApi) -> None:
        self._job, self._batches = job, batches
        self._tried = False

    async def __call__(self) -> Batch:
        job = self._job
        found = await self._batches.find(job.job_id, job.began_at) if self._tried else None
        if found is not None:
            return found
        self._tried = True
        try:
            return await self._batches.create(job.input_file_id or "", job.run_id, job.job_id)
        except Terminal as refused:
            raise NotTaken(refused) from None
