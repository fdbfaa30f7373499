"""Finds stored replies that the reuse policy accepts instead of new requests."""

from __future__ import annotations

import asyncio
from functools import partial

from biasgrid.flows.runs.context import Grid
from biasgrid.tasks.evaluate.cell import Spare
from biasgrid.tasks.prompt.reuse import earlier_judgements, repeated_requests, reuse_judgements, reuse_replies


async def stand_ins(grid: Grid) -> None:
    """Stores replies that the policy reuses, those of other runs before a run is split."""
    if grid.part is None:
        await of_other_runs(grid)
    if grid.resolved.settings.reuse != "none":
        grid.model_pool.expect(await asyncio.to_thread(repeated_requests, grid.lake, grid.run.run_id))


async def of_other_runs(grid: Grid) -> None:
    """Stores reusable replies of other runs."""
    settings, run = grid.resolved.settings, grid.run
    if settings.reuse == "all":
        await asyncio.to_thread(reuse_replies, grid.lake, run.run_id, run.started_at, settings.max_age)


async def judgements(grid: Grid) -> Spare | None:
    """Reusable verdicts of the same judge in other runs, or None if the policy forbids it."""
    settings, run, judge = grid.resolved.settings, grid.run, grid.resolved.judge
    if judge is None or settings.reuse != "all":
        return None
    told = await asyncio.to_thread(
        earlier_judgements, grid.lake, run.run_id, judge.model, run.started_at, settings.max_age
    )
    return partial(reuse_judgements, grid.lake, run.run_id, told)
