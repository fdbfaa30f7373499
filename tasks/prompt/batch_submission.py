"""The way out: what waits goes into batches, as large as the provider and the run's caps allow."""

from __future__ import annotations

import asyncio
from itertools import islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.connectors.allowance import Allowance
from tasks.connectors.base import ModelStopped, ModelUnknown, QuotaResting, RequestRejected, Terminal
from tasks.connectors.batch_lines import Batch
from tasks.prompt.batch_desk import BatchDesk, Load, Room
from tasks.prompt.batch_pool import Pool
from tasks.prompt.handover import NotTaken, hand_over
from tasks.prompt.jobs import SUBMITTING, Job
from tasks.prompt.patience import Patience

if TYPE_CHECKING:
    from tasks.connectors.batches import Batches


class Submission:
    """Submits the keys of a pool. Counts each against the allowance when it is submitted, at the most that it can
    cost, and corrects that when its job ends."""

    def __init__(
        self, pool: Pool, desk: BatchDesk, batches: Batches, patience: Patience, allowance: Allowance
    ) -> None:
        self._pool, self._desk, self._batches = pool, desk, batches
        self._patience, self._allowance = patience, allowance
        self._most = pool.limits.requests
        self._one_by_one = False
        self._counted: dict[str, tuple[int, float]] = {}

    async def take_up(self, open_keys: set[str]) -> None:
        """Counts the jobs that an earlier process left, and finds or creates the batches it may not have."""
        for job in [*self._pool.jobs.values()]:
            unanswered = [key for key in job.request_keys if key in open_keys]
            self._count(job, len(unanswered), await asyncio.to_thread(self._desk.most_usd, unanswered))
            if job.state == SUBMITTING:
                await self._hand_over(job, None)

    async def submit(self) -> None:
        """Batches for all that waits and fits. Where the account's queue was full, one, into an empty queue."""
        pool = self._pool
        while pool.waiting and pool.stopped is None and not (self._one_by_one and pool.jobs):
            with pool.scratch() as path:
                load = await asyncio.to_thread(self._loaded, path, list(islice(pool.waiting, self._most)))
                if load.keys:
                    job = await pool.cover(load.keys)
                    self._count(job, len(load.keys), load.cost_usd)
                    await self._hand_over(job, path)
                elif pool.jobs or await self._is_room():
                    return  # what is under way may turn out to cost less than it can

    async def rejected(self, job: Job, batch: Batch) -> None:
        """The provider rejected a batch as a whole: its requests wait again, or the model stops."""
        why = self._batches.lines.refusal(batch)
        if not batch.queue_full:
            self._pool.stop(why)
        elif len(self._pool.jobs) == 1:
            self._ask_for_less(job, why)
        self._one_by_one = self._one_by_one or batch.queue_full
        await self.never_asked(job, "failed", str(why))

    async def never_asked(self, job: Job, state: str, why: str) -> None:
        """Ends a job whose requests were not charged."""
        requests, most_usd = self._counted.pop(job.job_id, (0, 0.0))
        self._allowance.count(-requests, -most_usd)
        await self._pool.settle(job, state, why, again=job.request_keys)

    def charged(self, job: Job, cost_usd: float) -> None:
        """Corrects what was counted for a job by what its replies cost."""
        _, most_usd = self._counted.pop(job.job_id, (0, 0.0))
        self._allowance.count(0, cost_usd - most_usd)

    def forget(self) -> None:
        """Takes back what is counted for jobs that have not ended: whoever takes them up counts them anew."""
        for requests, most_usd in self._counted.values():
            self._allowance.count(-requests, -most_usd)
        self._counted.clear()

    def _count(self, job: Job, requests: int, most_usd: float) -> None:
        self._counted[job.job_id] = requests, most_usd
        self._allowance.count(requests, most_usd)

    def _loaded(self, path: Path, keys: list[str]) -> Load:
        requests, cost_usd = self._allowance.requests_left, self._allowance.cost_left
        room = Room(
            self._pool.limits.megabytes * 1e6,
            inf if requests is None else requests,
            inf if cost_usd is None else cost_usd,
        )
        return self._desk.write_input(self._batches.lines, keys, path, room)

    async def _is_room(self) -> bool:
        """Whether another request may be sent once those in flight elsewhere have come to their end; else the
        model stops at the cap."""
        key = next(iter(self._pool.waiting))
        most_usd = await asyncio.to_thread(self._desk.most_usd, [key])
        if await self._allowance.take(most_usd):
            self._allowance.settle(most_usd, 0.0)
            self._allowance.count(-1, 0.0)
            return True
        if self._allowance.reached is not None:
            self._pool.stop(self._allowance.reached)
        return False

    async def _hand_over(self, job: Job, written: Path | None) -> None:
        """`written` holds the job's requests; None where an earlier process wrote them."""
        pool, lines = self._pool, self._batches.lines
        with pool.scratch() as path:

            def input_file() -> Path:
                if written is None:
                    self._desk.write_input(lines, job.request_keys, path, Room())
                return written or path

            try:
                pool.jobs[job.job_id] = await hand_over(
                    pool.lake,
                    job,
                    self._batches,
                    self._patience,
                    input_file=input_file,
                    seen_before=written is None,
                )
            except NotTaken as refused:
                await self._not_taken(job, refused.why, seen_before=written is None)

    async def _not_taken(self, job: Job, why: Terminal, *, seen_before: bool) -> None:
        await self.never_asked(job, "rejected", str(why))
        if seen_before and isinstance(why, RequestRejected | ModelUnknown):
            return  # the file that was uploaded then is gone: a new job uploads its own
        self._pool.stop(why if isinstance(why, ModelStopped) else self._batches.lines.rejected(str(why)))

    def _ask_for_less(self, job: Job, why: ModelStopped) -> None:
        """The batch was alone in the queue, and too much for it all the same."""
        self._most = max(1, len(job.request_keys) // 2)
        if len(job.request_keys) == 1:
            self._pool.stop(QuotaResting(f"{why}; others fill the account's queue: `biasgrid resume` later"))
