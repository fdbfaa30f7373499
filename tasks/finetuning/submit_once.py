"""Giving an order to the provider: one job comes of it, whatever happens on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from biasgrid.tasks.connectors.api import Terminal
from biasgrid.tasks.connectors.batch.fine_tuning import TuningApi, TuningJob, TuningRequest
from biasgrid.tasks.connectors.client.retry import PollPolicy, Unreachable
from biasgrid.tasks.finetuning.folder import TRAIN, VALIDATION
from biasgrid.tasks.finetuning.jobs import Job
from biasgrid.tasks.finetuning.order import Order
from biasgrid.warehouse.storage.lake import Lake

T = TypeVar("T")


class NotTaken(Exception):
    """The provider refused an order; no job came of it. `why` is what it said."""

    def __init__(self, why: Terminal) -> None:
        super().__init__(why)
        self.why = why


class HandingOver:
    """Uploads an order's files from their folder and creates its job."""

    def __init__(self, lake: Lake, order: Order, tunings: TuningApi, patience: PollPolicy, folder: Path) -> None:
        self._lake, self._order, self._tunings = lake, order, tunings
        self._patience, self._folder = patience, folder
        self._tried = False
        self.uploaded: list[str] = []
        """Files that lie at the provider."""

    async def taken(self, job: Job) -> Job:
        """The job as the provider took it. One with an uploaded file may have been created before: it is looked
        for first. Raises NotTaken, or a ModelStopped that leaves open whether it was taken."""
        self._tried = job.input_file_id is not None
        if job.input_file_id is None:
            job = await self._uploaded(job)
        found = await self._patience.steadily(partial(self._found, job)) if self._tried else None
        if found is None:
            validation = await self._upload(job, VALIDATION)
            await self._until_ready(job.input_file_id or "", validation)
            found = await self._patience.steadily(partial(self._created, job, validation))
        return await asyncio.to_thread(job.as_told(found).record, self._lake)

    async def _uploaded(self, job: Job) -> Job:
        train = await self._upload(job, TRAIN)
        return await asyncio.to_thread(replace(job, input_file_id=train).record, self._lake)

    async def _upload(self, job: Job, name: str) -> str:
        upload = partial(self._tunings.upload, self._folder / name, f"biasgrid-{job.job_id}-{name}")
        self.uploaded.append(await _or_not_taken(self._patience.steadily(upload)))
        return self.uploaded[-1]

    async def _until_ready(self, *file_ids: str) -> None:
        for file_id in file_ids:
            intervals = self._patience.intervals()
            look = partial(self._tunings.is_ready, file_id)
            while not await _or_not_taken(self._patience.steadily(look)):  # noqa: ASYNC110 - the provider calls nobody
                await asyncio.sleep(next(intervals))

    async def _found(self, job: Job) -> TuningJob | None:
        return await self._tunings.find(job.job_id, job.input_file_id or "", job.began_at)

    async def _created(self, job: Job, validation: str) -> TuningJob:
        """Created when first called. A further call looks for it first: what was answered by a broken connection
        or a time-out may have been done all the same."""
        found = await self._found(job) if self._tried else None
        if found is not None:
            return found
        self._tried = True
        return await _or_not_taken(self._tunings.create(self._wanted(job, validation)))

    def _wanted(self, job: Job, validation: str) -> TuningRequest:
        order = self._order
        train = job.input_file_id or ""
        return TuningRequest(train, validation, order.hyperparameters, order.seed, order.suffix, job.job_id)


async def _or_not_taken(call: Awaitable[T]) -> T:
    """Raises NotTaken for what would be refused again."""
    try:
        return await call
    except Unreachable:
        raise
    except Terminal as refused:
        raise NotTaken(refused) from None
