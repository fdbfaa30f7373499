"""Prompts the open cases of cells and lands each answer on arrival."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Answer, ModelStopped
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import RetryBudget
from biasgrid.tasks.connectors.concurrency import run_concurrently
from biasgrid.tasks.connectors.rereading import reread
from biasgrid.tasks.connectors.rows import Case, response_row, to_request
from biasgrid.tasks.connectors.workers import SLACK, Workers, request_slots
from biasgrid.tasks.prompt.reuse import read_landed
from biasgrid.tasks.prompt.tally import CELL, Tally, Watch, outcome_of, record_cells
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.lake import Lake


async def prompt_cell(
    lake: Lake,
    cases: pl.DataFrame,
    target: Target,
    model_pool: ModelPool,
    *,
    retries: int,
    under_way: CellSlots | None = None,
) -> Tally:
    """Prompts the cases of one cell (rows of `cases`) without a reply and lands the answers; errors are rows."""
    started = time.monotonic()
    run_id, cell_id = cases["run_id"][0], cases["cell_id"][0]
    under_way = under_way or CellSlots(request_slots(target))
    before = await asyncio.to_thread(read_landed, lake, run_id, cell_id)
    if before["error_class"].null_count() < before.height:
        await asyncio.to_thread(reread, lake, run_id, [cell_id], lambda _: target)
        before = await asyncio.to_thread(read_landed, lake, run_id, cell_id)
    desk = _CellRecorder(target, Journal(lake, run_id, cell_id), Tally(cases.height), under_way.watch)
    for row in before.iter_rows(named=True):
        desk.count(row, kept=True)
    open_cases = cases.join(before, on="case_id", how="anti")
    try:
        workers = Workers(
            model_pool,
            target,
            to_request,
            desk.land,
            retries,
            share=desk.land,
            budget=RetryBudget(),
            slots=under_way.request_slots,
            all_taken=under_way.all_taken,
        )
        count = min(SLACK * target.limits.concurrency, max(open_cases.height, 1))
        await workers.answer_all(open_cases.iter_rows(named=True), count)
    finally:
        await asyncio.shield(asyncio.to_thread(desk.journal.land))
    tally = replace(desk.tally, seconds=time.monotonic() - started)
    concluded = await asyncio.to_thread(record_cells, lake, cases.head(1).select(CELL), {cell_id: tally})
    return concluded[cell_id]


@dataclass(frozen=True, slots=True)
class CellSlots:
    """State shared by the cells of a model that are prompted at the same time."""

    request_slots: asyncio.Semaphore
    all_taken: Callable[[], None] = lambda: None
    """Called once the last case of a cell is in progress, so that the next cell may begin."""
    watch: Watch | None = None


async def prompt_in_turn(
    cell_ids: Sequence[str], under_way: CellSlots, ask: Callable[[str, CellSlots], Awaitable[Tally]]
) -> dict[str, Tally]:
    """Tallies of a model's cells: each begins when the one before has sent its last case."""
    turns = [asyncio.Event() for _ in cell_ids]
    turns[0].set()
    ends = [*(turn.set for turn in turns[1:]), under_way.all_taken]

    async def take_turn(turn: asyncio.Event, cell_id: str, all_taken: Callable[[], None]) -> Tally:
        await turn.wait()
        tally = await ask(cell_id, replace(under_way, all_taken=all_taken))
        all_taken()
        return tally

    tallies = await run_concurrently(take_turn(*one) for one in zip(turns, cell_ids, ends, strict=True))
    return dict(zip(cell_ids, tallies, strict=True))


@dataclass(slots=True)
class _CellRecorder:
    target: Target
    journal: Journal
    tally: Tally
    watch: Watch | None

    def land(self, case: Case, answer: Answer) -> None:
        row = response_row(case, self.target, answer)
        self.journal.append(row)
        if isinstance(answer.error, ModelStopped):
            self.tally = replace(self.tally, stopped=str(answer.error))
        self.count(row)

    def count(self, row: dict[str, Any], *, kept: bool = False) -> None:
        self.tally = self.tally.plus(row)
        if self.watch:
            self.watch(self.target.model, outcome_of(row, is_kept=kept), row["cost_usd"])
