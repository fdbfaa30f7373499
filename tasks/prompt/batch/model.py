"""Prompts one model through its provider's batch API: submit, poll, collect, and resume.

No request is paid twice: a job lands in the lake before its batch is created and can be found by the batch's
metadata; requests of an unsettled job are never submitted again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Answer, ConnectorError, ModelStopped, ModelUnknown, Reply, Transient
from biasgrid.tasks.connectors.batch.lines import Batch, OtherBatch, Outcome
from biasgrid.tasks.connectors.client.retry import PollPolicy
from biasgrid.tasks.connectors.client.run_budget import RunBudget
from biasgrid.tasks.prompt.batch.cells import BatchCells
from biasgrid.tasks.prompt.batch.jobs import COLLECTED, Job, Progress, Report, ignore_progress
from biasgrid.tasks.prompt.batch.pool import Pool
from biasgrid.tasks.prompt.batch.submission import Submission
from biasgrid.tasks.prompt.tally import Tally, Watch
from biasgrid.warehouse.storage.errors import storing
from biasgrid.warehouse.storage.lake import Lake

if TYPE_CHECKING:
    from biasgrid.tasks.connectors.batch.api import BatchApi

READ_AT_ONCE = 5_000
"""Failed cases that are landed together."""
AT_ONCE = 200
"""Lines between two yields to the event loop."""


class BatchCollection:
    """Collects the jobs of a pool, idempotently: landing a job again writes the same rows."""

    def __init__(
        self, pool: Pool, desk: BatchCells, batches: BatchApi, patience: PollPolicy, retries: int
    ) -> None:
        self._pool, self._desk, self._batches = pool, desk, batches
        self._patience, self._retries = patience, retries

    async def wait_for_end(self, report: Report) -> list[tuple[Job, Batch]]:
        """Waits until at least one batch has ended; empty if there are no jobs."""
        intervals = self._patience.intervals()
        jobs = self._pool.jobs
        while jobs:
            looked_at = [(job_id, await self._look(job)) for job_id, job in [*jobs.items()]]
            await report(Progress(self._pool.target.model, tuple(jobs.values())))
            ended = [(jobs[job_id], batch) for job_id, batch in looked_at if batch is not None and batch.ended]
            if ended:
                return ended
            if jobs:
                await asyncio.sleep(next(intervals))
        return []

    async def collect(self, job: Job) -> float:
        """Lands the replies of an ended batch, settles its job, and returns their cost in US dollars.

        Raises OtherBatch, with nothing landed, if the batch is another job's."""
        before = self._desk.spent_usd
        self._pool.batches_taken.update(job.request_keys)
        again = await self._land(job)
        await self._desk.flush()
        ended = None if job.state == "completed" else f"the batch ended as {job.state}"
        await self._pool.settle(job, COLLECTED, ended, again=again)
        return self._desk.spent_usd - before

    async def tidy(self, job: Job) -> None:
        """Deletes a settled job's files from the provider if it allows that, since they would remain for weeks."""
        for file_id in job.files:
            with suppress(ConnectorError):
                await self._batches.delete(file_id)

    async def give_up(self, why: ModelStopped) -> None:
        """Lands an error for all unanswered requests."""
        keys, now = self._pool.unanswered_keys(), datetime.now(UTC)
        for start in range(0, len(keys), READ_AT_ONCE):
            cases = await asyncio.to_thread(self._desk.cases, keys[start : start + READ_AT_ONCE])
            for key, asking in cases.items():
                self._desk.land(asking, self._answer(key, why, now))

    async def _look(self, job: Job) -> Batch | None:
        """The current batch of a job, or None if the provider no longer knows it."""
        try:
            batch = await self._patience.call(partial(self._batches.retrieve, job.provider_job_id or ""))
        except ModelUnknown:
            # any wrong address reports a batch as unknown; only a list without it proves that it is gone
            found = await self._patience.call(partial(self._batches.find, self._pool.seek(job)))
            if found is None:
                await self._end_lost(job)
                return None
            batch = found
        now = job.update_from(batch)
        self._pool.jobs[job.job_id] = now
        if now.state != job.state:
            await self._pool.record(now)
        return batch

    async def _end_lost(self, job: Job) -> None:
        why = self._batches.lines.unknown(job.provider_job_id or "")
        self._pool.stop(why)
        await self._pool.settle(job, "lost", str(why), again=job.request_keys)

    async def _land(self, job: Job) -> list[str]:
        """Lands the results of a job's requests; returns the keys to be retried."""
        cases = await asyncio.to_thread(self._desk.cases, job.request_keys)
        again: list[str] = []
        async for key, outcome in self._outcomes(job, cases):
            if self._goes_again(key, outcome):
                again.append(key)
            else:
                # the recorded end, not the current time, so that a repeated collection writes the same rows
                self._desk.land(cases[key], self._answer(key, outcome, job.recorded_at))
        return again

    async def _outcomes(self, job: Job, keys: Collection[str]) -> AsyncIterator[tuple[str, Outcome]]:
        """Each of a job's requests once, with its result. Raises OtherBatch if all results are of another job."""
        lines, missing, is_ours = self._batches.lines, dict.fromkeys(keys), True
        named = lines.keys_by_name(job.job_id, keys)
        for file_id in filter(None, (job.output_file_id, job.error_file_id)):
            async for name, outcome in self._results(job, file_id):
                key = named.get(name, "")
                if key in missing:
                    del missing[key]
                    yield key, outcome
                is_ours = is_ours and lines.is_of(job.job_id, name)
        if not is_ours and len(missing) == len(keys):
            raise OtherBatch(job.provider_job_id)
        for key in missing:
            yield key, lines.error_without_line(job.state)

    async def _results(self, job: Job, file_id: str) -> AsyncIterator[tuple[str, Outcome]]:
        """The custom_id and the result in each line of a file."""
        with self._pool.scratch() as path:
            await self._patience.call(partial(self._batches.download, file_id, path, len(job.request_keys)))
            with storing(path), path.open("rb") as file:
                for number, found in enumerate(self._batches.lines.outcomes(file)):
                    if found is not None:
                        yield found
                    if number % AT_ONCE == 0:
                        await asyncio.sleep(0)

    def _goes_again(self, key: str, outcome: Outcome) -> bool:
        if isinstance(outcome, ModelStopped):
            self._pool.stop(outcome)
        if isinstance(outcome, Reply) or self._pool.stopped is not None:
            return False
        taken = self._pool.batches_taken[key]
        if taken == 1 and self._batches.lines.learn_from(outcome):
            return True
        return isinstance(outcome, Transient) and taken <= self._retries

    def _answer(self, key: str, outcome: Outcome, received_at: datetime) -> Answer:
        reply = outcome if isinstance(outcome, Reply) else None
        error = outcome if isinstance(outcome, ConnectorError) else None
        return Answer(reply, error, self._pool.batches_taken[key], None, received_at)


if TYPE_CHECKING:
    from biasgrid.tasks.connectors.batch.api import BatchApi


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """How a model's cells are prompted in batches."""

    retries: int
    shares: bool = True
    """Whether equal requests are sent once."""
    run_budget: RunBudget = field(default_factory=RunBudget)
    watch: Watch | None = None
    report: Report = ignore_progress
    patience: PollPolicy = field(default_factory=PollPolicy.from_environment)


async def batch_cells(
    lake: Lake, run_id: str, cell_ids: Sequence[str], target: Target, batches: BatchApi, options: BatchOptions
) -> dict[str, Tally]:
    """Prompts the open cases of some cells of one model in batches and lands the answers; returns tallies by cell.

    Waits as long as the batches take; provider errors become rows. The next call for this run collects unfinished
    batches."""
    started = time.monotonic()
    patience = options.patience
    desk = BatchCells(lake, run_id, cell_ids, target, options.watch, shares=options.shares)
    pool = Pool(lake, run_id, target)
    submission = Submission(pool, desk, batches, patience, options.run_budget)
    collecting = BatchCollection(pool, desk, batches, patience, options.retries)
    try:
        open_keys = await asyncio.to_thread(desk.open_keys)
        await pool.take_up(open_keys)
        await _run_batches(pool, submission, collecting, set(open_keys), options.report)
        submission.leave()
    finally:
        submission.settle()
        await desk.flush()
    return await asyncio.to_thread(desk.conclude, time.monotonic() - started)


async def _run_batches(
    pool: Pool, submission: Submission, collecting: BatchCollection, open_keys: set[str], report: Report
) -> None:
    """Processes batches until every key has a reply or an error."""
    try:
        await submission.take_up(open_keys)
        while pool.is_busy:
            await submission.submit()
            for job, batch in await collecting.wait_for_end(report):
                try:
                    if batch.state == "failed":
                        await submission.requeue(job, batch)
                    else:
                        submission.settle_job(job, await collecting.collect(job))
                except OtherBatch:
                    await submission.seek_again(job)
                else:
                    await collecting.tidy(job)
    except ModelStopped as stopped:
        pool.stop(stopped)
    if pool.stopped is not None:
        await collecting.give_up(pool.stopped)
