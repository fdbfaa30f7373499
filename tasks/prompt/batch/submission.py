"""Submits waiting keys in batches, as large as the provider's limits and the run's caps allow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from biasgrid.tasks.connectors.api import ModelStopped, ModelUnknown, QuotaResting, RequestRejected, Terminal
from biasgrid.tasks.connectors.batch.lines import Batch
from biasgrid.tasks.connectors.batch.recorded_job import SUBMITTING
from biasgrid.tasks.connectors.client.retry import CreateOnce, JobRefused, PollPolicy, detect_refusal
from biasgrid.tasks.connectors.client.run_budget import Reservation, RunBudget
from biasgrid.tasks.prompt.batch.cells import BatchCells, InputLoad, InputRoom
from biasgrid.tasks.prompt.batch.jobs import Job
from biasgrid.tasks.prompt.batch.pool import Pool

if TYPE_CHECKING:
    from biasgrid.tasks.connectors.batch.api import BatchApi


class Submission:
    """Submits the keys of a pool; the cost of a batch is reserved before it is written and settled at its end."""

    def __init__(
        self, pool: Pool, desk: BatchCells, batches: BatchApi, patience: PollPolicy, run_budget: RunBudget
    ) -> None:
        self._pool, self._desk, self._batches = pool, desk, batches
        self._patience, self._run_budget, self._model = patience, run_budget, pool.target.model
        self._most = pool.limits.requests
        self._one_by_one = False
        self._charged_usd = 0.0
        self._known: set[str] = set()
        """Ids of the jobs of this pass."""

    async def take_up(self, open_keys: set[str]) -> None:
        """Reserves the cost of earlier jobs, and finds or creates the batches of interrupted submissions."""
        jobs = [*self._pool.jobs.values()]
        self._known.update(job.job_id for job in jobs)
        for job in jobs:
            if job.job_id not in self._run_budget.jobs:
                unanswered = [key for key in job.request_keys if key in open_keys]
                most_usd = await asyncio.to_thread(self._desk.most_usd, unanswered)
                self._run_budget.reserve_job(job.job_id, len(unanswered), most_usd, self._model)
        for job in jobs:
            if job.state == SUBMITTING:
                await self._submit_job(job, None)

    async def submit(self) -> None:
        """Submits all waiting keys that fit; after a full queue, one batch at a time."""
        pool = self._pool
        while pool.waiting and pool.stopped is None and not (self._one_by_one and pool.jobs):
            with pool.scratch() as path:
                job = await self._write_job(path)
                if job is not None:
                    await self._submit_job(job, path)
                elif pool.jobs:
                    self._run_budget.report_waiting()
                    return  # running jobs may cost less than reserved
                elif await self._is_room():
                    return

    async def _write_job(self, path: Path) -> Job | None:
        """A job with its requests written to `path` and their maximum cost reserved; None if nothing fits."""
        keys = list(islice(self._pool.waiting, self._most))
        self._desk.longest = max(self._desk.longest, self._run_budget.longest.get(self._model, 0))
        one_usd = await asyncio.to_thread(self._desk.most_usd, keys[:1])
        async with self._run_budget.rest(len(keys), one_usd, self._model) as hold:
            load = await asyncio.to_thread(self._fill_input, path, keys, hold)
            if not load.keys:
                return None
            job = await self._pool.cover(load.keys)
            hold.keep(len(load.keys), load.cost_usd)
            self._run_budget.jobs[job.job_id] = hold
            self._known.add(job.job_id)
        return job

    async def requeue(self, job: Job, batch: Batch) -> None:
        """Handles a batch rejected as a whole: its requests wait again, or the model stops."""
        why = self._batches.lines.refusal(batch)
        if not batch.queue_full:
            self._pool.stop(why)
        elif len(self._pool.jobs) == 1:
            self._ask_for_less(job, why)
        self._one_by_one = self._one_by_one or batch.queue_full
        await self.never_asked(job, "failed", str(why))

    async def never_asked(self, job: Job, state: str, why: str) -> None:
        """Ends a job whose requests were not charged."""
        self._end(job, is_sent=False)
        await self._pool.settle(job, state, why, again=job.request_keys)

    def settle_job(self, job: Job, cost_usd: float) -> None:
        """Settles the reservation of a job with the cost of its replies."""
        self._charged_usd += cost_usd
        self._run_budget.record_length(job.model, self._desk.longest)
        self._end(job, cost_usd)

    async def seek_again(self, job: Job) -> None:
        """Searches for the batch of a job that another's was taken for, or creates it."""
        self._pool.batches_taken.subtract(job.request_keys)
        sought = replace(job, state=SUBMITTING, provider_job_id=None, output_file_id=None, error_file_id=None)
        await self._submit_job(await self._pool.record(sought), None)

    def settle(self) -> None:
        """Charges landed replies of jobs that were not fully collected."""
        self._run_budget.count(0, self._desk.spent_usd - self._charged_usd, self._model)
        self._charged_usd = self._desk.spent_usd

    def leave(self) -> None:
        """Releases the waits for jobs that remain when the pass ends."""
        for job_id in self._known:
            if hold := self._run_budget.jobs.get(job_id):
                hold.send()
                hold.unawait()

    def _end(self, job: Job, cost_usd: float = 0.0, *, is_sent: bool = True) -> None:
        hold = self._run_budget.jobs.pop(job.job_id, None)
        if hold is None:
            self._run_budget.count(0, cost_usd, self._model)
            return
        if not is_sent:
            hold.send(is_sent=False)
        hold.end(cost_usd)

    def _fill_input(self, path: Path, keys: list[str], hold: Reservation) -> InputLoad:
        money = inf if self._run_budget.max_cost is None else hold.most_usd
        room = InputRoom(self._pool.limits.megabytes * 1e6, hold.requests, money)
        return self._desk.write_input(self._batches.lines, keys, path, room)

    async def _is_room(self) -> bool:
        """Whether another request fits after others end; otherwise the model stops at the cap."""
        key = next(iter(self._pool.waiting))
        most_usd = await asyncio.to_thread(self._desk.most_usd, [key])
        if hold := await self._run_budget.take(most_usd, self._model):
            hold.end()
            return True
        if reached := self._run_budget.reached_by(self._model):
            self._pool.stop(reached)
        return False

    async def _submit_job(self, job: Job, written: Path | None) -> None:
        """Submits a job; `written` is its input file, or None if an earlier process wrote it."""
        try:
            self._pool.jobs[job.job_id] = await self._create_batch(job, written)
            self._run_budget.jobs[job.job_id].send()
        except JobRefused as refused:
            await self._not_taken(job, refused.why, seen_before=written is None)

    async def _create_batch(self, job: Job, written: Path | None) -> Job:
        """The job as accepted by the provider.

        Raises JobRefused, or ModelStopped if it is unknown whether the job was accepted."""
        find = partial(self._batches.find, self._pool.seek(job))
        # an earlier process may already have created the batch of this job
        found = await self._patience.call(find) if written is None else None
        if found is None:
            async with self._input_file(job, written) as path:
                if job.input_file_id is None:
                    job = await self._upload(job, path)
                create = partial(self._batches.create, job, path)
                found = await self._patience.call(CreateOnce(find, create))
        return await asyncio.to_thread(job.update_from(found).record, self._pool.lake)

    @asynccontextmanager
    async def _input_file(self, job: Job, written: Path | None) -> AsyncIterator[Path]:
        """The file with the job's requests, written anew if an earlier process wrote it."""
        if written is not None:
            yield written
            return
        with self._pool.scratch() as path:
            lines = self._batches.lines
            await asyncio.to_thread(self._desk.write_input, lines, job.request_keys, path, InputRoom())
            yield path

    async def _upload(self, job: Job, path: Path) -> Job:
        upload = partial(self._batches.upload, path, f"biasgrid-{job.job_id}.jsonl")
        file_id = await detect_refusal(self._patience.call(upload))
        if file_id is None:
            return job
        return await asyncio.to_thread(replace(job, input_file_id=file_id).record, self._pool.lake)

    async def _not_taken(self, job: Job, why: Terminal, *, seen_before: bool) -> None:
        await self.never_asked(job, "rejected", str(why))
        if seen_before and isinstance(why, RequestRejected | ModelUnknown):
            return  # the file uploaded then is gone: a new job uploads its own
        self._pool.stop(why if isinstance(why, ModelStopped) else self._batches.lines.reject(str(why)))

    def _ask_for_less(self, job: Job, why: ModelStopped) -> None:
        """Halves the batch size after a batch was too large for an empty queue; stops the model at one request."""
        self._most = max(1, len(job.request_keys) // 2)
        if len(job.request_keys) == 1:
            self._pool.stop(QuotaResting(f"{why}; others fill the account's queue: `biasgrid resume` later"))
