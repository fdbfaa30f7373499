"""Submits an order to the provider so that exactly one job results, even after failures."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

from biasgrid.tasks.connectors.batch.fine_tuning import TuningApi, TuningRequest
from biasgrid.tasks.connectors.client.retry import CreateOnce, PollPolicy, detect_refusal
from biasgrid.tasks.finetuning.folder import TRAIN, VALIDATION
from biasgrid.tasks.finetuning.jobs import Job
from biasgrid.tasks.finetuning.order import Order
from biasgrid.warehouse.storage.lake import Lake


class HandingOver:
    """Uploads an order's files from their folder and creates its job."""

    def __init__(self, lake: Lake, order: Order, tunings: TuningApi, patience: PollPolicy, folder: Path) -> None:
        self._lake, self._order, self._tunings = lake, order, tunings
        self._patience, self._folder = patience, folder
        self.uploaded: list[str] = []
        """Ids of the files at the provider."""

    async def taken(self, job: Job) -> Job:
        """The job as accepted by the provider.

        Raises JobRefused, or ModelStopped if it is unknown whether the job was accepted."""
        # if a file was uploaded, the job may already exist
        tried = job.input_file_id is not None
        if job.input_file_id is None:
            job = await self._uploaded(job)
        train = job.input_file_id or ""
        find = partial(self._tunings.find, job.job_id, train, job.began_at)
        found = await self._patience.call(find) if tried else None
        if found is None:
            validation = await self._upload(job, VALIDATION)
            await self._until_ready(train, validation)
            order = self._order
            wanted = TuningRequest(train, validation, order.hyperparameters, order.seed, order.suffix, job.job_id)
            create = partial(self._tunings.create, wanted)
            found = await self._patience.call(CreateOnce(find, create, tried=tried))
        return await asyncio.to_thread(job.as_told(found).record, self._lake)

    async def _uploaded(self, job: Job) -> Job:
        train = await self._upload(job, TRAIN)
        return await asyncio.to_thread(replace(job, input_file_id=train).record, self._lake)

    async def _upload(self, job: Job, name: str) -> str:
        upload = partial(self._tunings.upload, self._folder / name, f"biasgrid-{job.job_id}-{name}")
        self.uploaded.append(await detect_refusal(self._patience.call(upload)))
        return self.uploaded[-1]

    async def _until_ready(self, *file_ids: str) -> None:
        for file_id in file_ids:
            intervals = self._patience.intervals()
            look = partial(self._tunings.is_ready, file_id)
            while not await detect_refusal(self._patience.call(look)):  # noqa: ASYNC110 - the provider calls nobody
                await asyncio.sleep(next(intervals))
