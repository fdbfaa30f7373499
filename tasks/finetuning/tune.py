"""Runs an order at a provider from end to end, resuming after a crash; no job is paid twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path

from ulid import ULID

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import ConnectorError, ModelUnknown
from biasgrid.tasks.connectors.batch.fine_tuning import TuningApi, TuningJob, TuningRequest
from biasgrid.tasks.connectors.batch.recorded_job import RecordedJob
from biasgrid.tasks.connectors.client.retry import CreateOnce, JobRefused, PollPolicy, detect_refusal
from biasgrid.tasks.finetuning.dataset import TRAIN, VALIDATION, tuned_folder, write_card, write_dataset
from biasgrid.tasks.finetuning.order import Order
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunLock

KIND = "finetune"
SUCCEEDED = "succeeded"
IN_VAIN = ("failed", "cancelled", "canceled", "rejected", "lost")
"""End states without a model: ended by the provider, rejected (never accepted), lost (no longer known there)."""


@dataclass(frozen=True, slots=True)
class Job(RecordedJob):
    """A fine-tuning job, as last recorded."""

    kind = KIND

    result_model: str | None = None

    @classmethod
    def new(cls, order_id: str, target: Target) -> Job:
        return cls(order_id, str(ULID()), target.provider, target.model, datetime.now(UTC))

    def updated_from(self, tuning: TuningJob) -> Job:
        """The job updated from the provider's description."""
        return replace(
            self,
            state=tuning.state,
            provider_job_id=tuning.id,
            error_message=tuning.error,
            result_model=tuning.model,
        )


def find_open_job(lake: Lake, order_id: str) -> Job | None:
    """The newest job of an order that has or may still produce a model, or None."""
    jobs = Job.newest(lake, order_id, IN_VAIN)
    return jobs[-1] if jobs else None


Report = Callable[[str], None]


def ignore(_: str) -> None:
    return


async def tune(lake: Lake, order: Order, tunings: TuningApi, patience: PollPolicy, report: Report = ignore) -> Job:
    """The ended job of an order: it has a model, or an `error_message`; a successful order is not sent again.

    `report` receives the provider's messages. Raises RunBusy if another process runs the same order, Unreachable
    if the provider does not answer in time; the job continues there, and the same order resumes it."""
    with RunLock(lake, order.id):
        job = await asyncio.to_thread(find_open_job, lake, order.id)
        if job is not None and job.state == SUCCEEDED:
            return job
        return await _Tuning(lake, order, tunings, patience, report).run(job)


@dataclass
class _Tuning:
    """The submission of an order and the polling of its job."""

    lake: Lake
    order: Order
    tunings: TuningApi
    patience: PollPolicy
    report: Report
    uploaded: list[str] = field(default_factory=list)
    """Ids of the files at the provider."""
    reported: set[str] = field(default_factory=set)
    """Ids of events that were passed on."""

    @cached_property
    def folder(self) -> Path:
        return tuned_folder(self.lake, self.order.id)

    async def run(self, job: Job | None) -> Job:
        await asyncio.to_thread(write_dataset, self.lake, self.folder, self.order.dataset)
        if job is None:
            job = await self._record(Job.new(self.order.id, self.order.target))
        if job.provider_job_id is None:
            try:
                job = await self._submit(job)
            except JobRefused as refused:
                await self._delete_files(self.uploaded)
                job = await self._end(job, "rejected", str(refused.why))
        return job if job.state in IN_VAIN else await self._follow(job)

    async def _record(self, job: Job) -> Job:
        return await asyncio.to_thread(job.record, self.lake)

    async def _end(self, job: Job, state: str, why: str) -> Job:
        return await self._record(replace(job, state=state, error_message=why))

    async def _submit(self, job: Job) -> Job:
        """The job as accepted by the provider: exactly one, even after failures.

        Raises JobRefused, or ModelStopped if it is unknown whether the job was accepted."""
        # if a file was uploaded, the job may already exist
        tried = job.input_file_id is not None
        if job.input_file_id is None:
            job = await self._record(replace(job, input_file_id=await self._upload(job, TRAIN)))
        train = job.input_file_id or ""
        find = partial(self.tunings.find, job.job_id, train, job.began_at)
        found = await self.patience.call(find) if tried else None
        if found is None:
            validation = await self._upload(job, VALIDATION)
            await self._wait_until_ready(train, validation)
            order = self.order
            wanted = TuningRequest(train, validation, order.hyperparameters, order.seed, order.suffix, job.job_id)
            create = partial(self.tunings.create, wanted)
            found = await self.patience.call(CreateOnce(find, create, tried=tried))
        return await self._record(job.updated_from(found))

    async def _upload(self, job: Job, name: str) -> str:
        upload = partial(self.tunings.upload, self.folder / name, f"biasgrid-{job.job_id}-{name}")
        self.uploaded.append(await detect_refusal(self.patience.call(upload)))
        return self.uploaded[-1]

    async def _wait_until_ready(self, *file_ids: str) -> None:
        for file_id in file_ids:
            intervals = self.patience.intervals()
            is_ready = partial(self.tunings.is_ready, file_id)
            while not await detect_refusal(self.patience.call(is_ready)):  # noqa: ASYNC110 - providers do not call back
                await asyncio.sleep(next(intervals))

    async def _delete_files(self, file_ids: Iterable[str]) -> None:
        """Deletes files from the provider if it allows that, since they would remain there."""
        for file_id in file_ids:
            with suppress(ConnectorError):
                await self.tunings.delete(file_id)

    async def _follow(self, job: Job) -> Job:
        """Polls a job until it ends."""
        intervals = self.patience.intervals()
        while (tuning := await self._find(job)) is not None:
            await self._report_events(tuning)
            if tuning.ended:
                return await self._conclude(job.updated_from(tuning), tuning)
            if tuning.state != job.state:
                job = await self._record(job.updated_from(tuning))
            await asyncio.sleep(next(intervals))
        return await self._end(job, "lost", str(self.tunings.unknown(job.provider_job_id or "")))

    async def _find(self, job: Job) -> TuningJob | None:
        """The job at the provider, or None if it is gone."""
        # any wrong address reports a job as unknown; only a list without it proves that it is gone
        call, tunings = self.patience.call, self.tunings
        try:
            return await call(partial(tunings.retrieve, job.provider_job_id or ""))
        except ModelUnknown:
            return await call(partial(tunings.find, job.job_id, job.input_file_id or "", job.began_at))

    async def _report_events(self, tuning: TuningJob) -> None:
        for event_id, words in await self.patience.call(partial(self.tunings.events, tuning.id)):
            if event_id not in self.reported:
                self.reported.add(event_id)
                self.report(words)

    async def _conclude(self, job: Job, tuning: TuningJob) -> Job:
        """Records the end last, so that a process killed earlier repeats the conclusion."""
        if job.state == SUCCEEDED:
            results = {"provider_job": tuning.id, "trained_tokens": tuning.trained_tokens}
            card = {"model": job.result_model, **self.order.card, **results}
            await asyncio.to_thread(write_card, self.lake, self.folder, card)
        await self._delete_files(tuning.files)
        return await self._record(job)
