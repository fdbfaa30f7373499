"""One model asked through its provider's batch API: submit, poll, collect, and go on where a process ended.

No request is paid twice. A job lands in the lake before its batch is created and is named in the batch's
metadata, so that whoever finds a job without a batch can ask the provider for it first. A job is settled when
its replies have landed, and what an unsettled job covers is never submitted again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import ModelStopped
from biasgrid.tasks.connectors.client.retry import Patience
from biasgrid.tasks.connectors.client.run_budget import Allowance
from biasgrid.tasks.prompt.batch.cells import BatchDesk
from biasgrid.tasks.prompt.batch.collection import Collecting
from biasgrid.tasks.prompt.batch.jobs import Tell, silently
from biasgrid.tasks.prompt.batch.pool import Pool
from biasgrid.tasks.prompt.batch.submission import Submission
from biasgrid.tasks.prompt.prompt import Tally, Watch
from biasgrid.warehouse.storage.lake import Lake

if TYPE_CHECKING:
    from biasgrid.tasks.connectors.batch.batches import Batches


async def batch_cells(
    lake: Lake,
    run_id: str,
    cell_ids: Sequence[str],
    target: Target,
    batches: Batches,
    *,
    retries: int,
    shares: bool = True,
    allowance: Allowance | None = None,
    watch: Watch | None = None,
    tell: Tell = silently,
    patience: Patience | None = None,
) -> dict[str, Tally]:
    """Ask the open cases of some cells of one model in batches, and land their answers; returns each cell's tally.

    Waits as long as the batches take. Errors of the provider are rows, not exceptions. A process that ends
    meanwhile leaves its batches at the provider: the next call for this run collects them. `shares`: whether what
    several cases ask alike is sent once.
    """
    started = time.monotonic()
    desk = BatchDesk(lake, run_id, cell_ids, target, watch, shares=shares)
    pool, patience = Pool(lake, run_id, target), patience or Patience.from_environment()
    submission = Submission(pool, desk, batches, patience, allowance or Allowance())
    collecting = Collecting(pool, desk, batches, patience, retries)
    try:
        open_keys = await asyncio.to_thread(desk.open_keys)
        await pool.take_up(open_keys)
        await _all(pool, submission, collecting, set(open_keys), tell)
        submission.leave()
    finally:
        submission.settle()
        await desk.flush()
    return await asyncio.to_thread(desk.conclude, time.monotonic() - started)


async def _all(
    pool: Pool, submission: Submission, collecting: Collecting, open_keys: set[str], tell: Tell
) -> None:
    """Returns when every key has an answer: a reply, or why there is none."""
    try:
        await submission.take_up(open_keys)
        while pool.is_busy:
            await submission.submit()
            for job, batch in await collecting.ended(tell):
                if batch.state == "failed":
                    await submission.rejected(job, batch)
                else:
                    submission.charged(job, await collecting.collect(job))
                await collecting.tidy(job)
    except ModelStopped as stopped:
        pool.stop(stopped)
    if pool.stopped is not None:
        await collecting.give_up(pool.stopped)
