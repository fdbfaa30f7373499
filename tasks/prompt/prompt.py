"""Prompts the open cases of cells and lands each answer on arrival."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import polars as pl
from ulid import ULID

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Answer, ModelStopped
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import RetryBudget
from biasgrid.tasks.connectors.concurrency import run_concurrently
from biasgrid.tasks.connectors.rereading import reread
from biasgrid.tasks.connectors.rows import Case, response_row, to_request
from biasgrid.tasks.connectors.workers import SLACK, Workers, request_slots
from biasgrid.tasks.prompt.reuse import read_landed
from biasgrid.warehouse.schemas import CELL_KEYS
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.lake import Lake

Watch = Callable[[str, str, float | None], None]
"""Called per case with model, outcome (`answered`, `kept`, `reused` or `failed`) and US dollars, if known."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Outcomes of a cell's cases; `stopped` is the terminal error that ended its model."""

    planned: int
    answered: int = 0
    reused: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    stopped: str | None = None

    @property
    def state(self) -> str:
        return "stopped" if self.stopped else "prompted"

    def plus(self, row: dict[str, Any]) -> Tally:
        """The tally with one more case counted."""
        if row["error_class"]:
            return replace(self, failed=self.failed + 1)
        if row["reused_from"]:
            return replace(self, reused=self.reused + 1)
        cost = row["cost_usd"]
        return replace(
            self,
            answered=self.answered + 1,
            input_tokens=self.input_tokens + (row["input_tokens"] or 0),
            output_tokens=self.output_tokens + (row["output_tokens"] or 0),
            cost_usd=None if cost is None or self.cost_usd is None else self.cost_usd + cost,
        )


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
        await asyncio.to_thread(reread, lake, run_id, cell_id, lambda _: target)
        before = await asyncio.to_thread(read_landed, lake, run_id, cell_id)
    desk = _CellRecorder(target, Journal(lake, run_id, cell_id), Tally(cases.height), under_way.watch)
    for row in before.iter_rows(named=True):
        desk.count(row, kept=row["reused_from"] is None)
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
    return await asyncio.to_thread(_conclude_cell, lake, cases, tally)


def _conclude_cell(lake: Lake, cases: pl.DataFrame, tally: Tally) -> Tally:
    """Lands the cell's event, including the time of earlier passes."""
    run_id, cell_id = cases["run_id"][0], cases["cell_id"][0]
    tally = replace(tally, seconds=tally.seconds + _earlier_seconds(lake, run_id, cell_id))
    record_cell(lake, cases, tally)
    return tally


def _earlier_seconds(lake: Lake, run_id: str, cell_id: str) -> float:
    """Seconds of earlier passes."""
    events = lake.read("cells", run_id, f"{cell_id}-*").sort("event_id")
    return float(events["seconds"][-1]) if events.height else 0.0


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
            self.watch(self.target.model, "kept" if kept else _outcome(row), row["cost_usd"])


def _outcome(row: dict[str, Any]) -> str:
    return "failed" if row["error_class"] else "reused" if row["reused_from"] else "answered"


CELL = ["run_id", *(name for name, _ in CELL_KEYS)]


def record_cell(lake: Lake, cases: pl.DataFrame, tally: Tally) -> None:
    """Lands the cell's event."""
    event_id = str(ULID())
    row = cases.head(1).select(CELL).to_dicts()[0] | {
        "event_id": event_id,
        "recorded_at": datetime.now(UTC),
        "state": tally.state,
        "planned": tally.planned,
        "answered": tally.answered,
        "reused": tally.reused,
        "failed": tally.failed,
        "input_tokens": tally.input_tokens,
        "output_tokens": tally.output_tokens,
        "cost_usd": tally.cost_usd,
        "seconds": tally.seconds,
    }
    lake.write("cells", row["run_id"], f"{row['cell_id']}-{event_id}", pl.DataFrame([row]))
