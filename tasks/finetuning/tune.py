"""Runs an order at a provider from end to end, resuming after a crash; no job is paid twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from biasgrid.tasks.connectors.api import ConnectorError, ModelUnknown
from biasgrid.tasks.connectors.batch.fine_tuning import TuningApi, TuningJob
from biasgrid.tasks.connectors.client.retry import JobRefused, PollPolicy
from biasgrid.tasks.finetuning.folder import folder_of, write_card, write_dataset
from biasgrid.tasks.finetuning.jobs import IN_VAIN, SUCCEEDED, Job, worth_waiting_for
from biasgrid.tasks.finetuning.order import Order
from biasgrid.tasks.finetuning.submit_once import HandingOver
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunLock

Tell = Callable[[str], None]


def silently(_: str) -> None:
    return


async def tune(lake: Lake, order: Order, tunings: TuningApi, patience: PollPolicy, tell: Tell = silently) -> Job:
    """The ended job of an order: it has a model, or an `error_message`; a successful order is not sent again.

    Passes the provider's messages on to `tell`. Raises RunBusy if another process runs the same order, Unreachable
    if the provider does not answer in time; the job continues there, and the same order resumes it."""
    with RunLock(lake, order.id):
        job = await asyncio.to_thread(worth_waiting_for, lake, order.id)
        if job is not None and job.state == SUCCEEDED:
            return job
        folder = folder_of(lake, order.id)
        await asyncio.to_thread(write_dataset, lake, folder, order.dataset)
        if job is None:
            job = await asyncio.to_thread(_begun, lake, order)
        if job.provider_job_id is None:
            job = await _handed_over(job, HandingOver(lake, order, tunings, patience, folder), lake, tunings)
        if job.state in IN_VAIN:
            return job
        return await Following(lake, order, tunings, patience, tell).to_its_end(job, folder)


def _begun(lake: Lake, order: Order) -> Job:
    return Job.new(order.id, order.target).record(lake)


async def _handed_over(job: Job, handing_over: HandingOver, lake: Lake, tunings: TuningApi) -> Job:
    try:
        return await handing_over.taken(job)
    except JobRefused as refused:
        await tidy(tunings, handing_over.uploaded)
        return await _ended(lake, job, "rejected", str(refused.why))


async def _ended(lake: Lake, job: Job, state: str, why: str) -> Job:
    return await asyncio.to_thread(replace(job, state=state, error_message=why).record, lake)


async def tidy(tunings: TuningApi, file_ids: Iterable[str]) -> None:
    """Deletes files from the provider if it allows that, since they would remain there."""
    for file_id in file_ids:
        with suppress(ConnectorError):
            await tunings.delete(file_id)


class Following:
    """Polls a job until it ends."""

    def __init__(self, lake: Lake, order: Order, tunings: TuningApi, patience: PollPolicy, tell: Tell) -> None:
        self._lake, self._order, self._tunings = lake, order, tunings
        self._patience, self._tell = patience, tell
        self._heard: set[str] = set()

    async def to_its_end(self, job: Job, folder: Path) -> Job:
        intervals = self._patience.intervals()
        while (tuning := await self._look(job)) is not None:
            await self._hear(tuning)
            if tuning.ended:
                return await self._concluded(job.as_told(tuning), tuning, folder)
            if tuning.state != job.state:
                job = await asyncio.to_thread(job.as_told(tuning).record, self._lake)
            await asyncio.sleep(next(intervals))
        return await _ended(self._lake, job, "lost", str(self._tunings.unknown(job.provider_job_id or "")))

    async def _look(self, job: Job) -> TuningJob | None:
        """The job at the provider, or None if it is gone."""
        # any wrong address reports a job as unknown; only a list without it proves that it is gone
        call, tunings = self._patience.call, self._tunings
        try:
            return await call(partial(tunings.retrieve, job.provider_job_id or ""))
        except ModelUnknown:
            return await call(partial(tunings.find, job.job_id, job.input_file_id or "", job.began_at))

    async def _hear(self, tuning: TuningJob) -> None:
        for event_id, words in await self._patience.call(partial(self._tunings.events, tuning.id)):
            if event_id not in self._heard:
                self._heard.add(event_id)
                self._tell(words)

    async def _concluded(self, job: Job, tuning: TuningJob, folder: Path) -> Job:
        """Records the end last, so that a process killed earlier repeats the conclusion."""
        if job.state == SUCCEEDED:
            came = {"provider_job": tuning.id, "trained_tokens": tuning.trained_tokens}
            told = {"model": job.result_model, **self._order.told, **came}
            await asyncio.to_thread(write_card, self._lake, folder, told)
        await tidy(self._tunings, tuning.files)
        return await asyncio.to_thread(job.record, self._lake)
