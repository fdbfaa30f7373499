"""Prompts one model through its provider's batch API: submit, poll, collect, and resume.

No request is paid twice: a job lands in the lake before its batch is created and can be found by the batch's
metadata; requests of an unsettled job are never submitted again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import ModelStopped
from biasgrid.tasks.connectors.client.retry import PollPolicy
from biasgrid.tasks.connectors.client.run_budget import RunBudget
from biasgrid.tasks.prompt.batch.cells import BatchCells
from biasgrid.tasks.prompt.batch.collection import BatchCollection
from biasgrid.tasks.prompt.batch.jobs import Report, ignore_progress
from biasgrid.tasks.prompt.batch.pool import Pool
from biasgrid.tasks.prompt.batch.submission import Submission
from biasgrid.tasks.prompt.prompt import Tally, Watch
from biasgrid.warehouse.storage.lake import Lake

if TYPE_CHECKING:
    from biasgrid.tasks.connectors.batch.batches import BatchApi


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
                if batch.state == "failed":
                    await submission.requeue(job, batch)
                else:
                    submission.settle_job(job, await collecting.collect(job))
                await collecting.tidy(job)
    except ModelStopped as stopped:
        pool.stop(stopped)
    if pool.stopped is not None:
        await collecting.give_up(pool.stopped)
