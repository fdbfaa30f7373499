"""What came of the cases of cells, and the events that record it: cells with a reply to every case are counted
together, by a few reads and in one file."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl

from biasgrid.tasks.prompt.reuse import AT_ONCE, read_landed
from biasgrid.warehouse.event_ids import EVENT_IDS
from biasgrid.warehouse.schemas import CELL_KEYS
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import split_cells

Watch = Callable[[str, str, float | None], None]
"""Called per case with model, outcome (`answered`, `kept`, `reused` or `failed`) and US dollars, if known."""
CELL: Final = ["run_id", *(name for name, _ in CELL_KEYS)]
"""The columns of a case that name its cell."""
SEVERAL: Final = "several"
"""Begin of the name of a file with the events of several cells."""


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


def outcome_of(row: Mapping[str, Any], *, is_kept: bool) -> str:
    """What `Watch` is called with for a reply; `is_kept`: one that an earlier pass has counted."""
    if is_kept and row["reused_from"] is None:
        return "kept"
    return "failed" if row["error_class"] else "reused" if row["reused_from"] else "answered"


def record_cells(lake: Lake, cells: pl.DataFrame, tallies: Mapping[str, Tally]) -> dict[str, Tally]:
    """Lands the events of cells (one row of CELL each) in one file, and returns their tallies, both with the
    seconds of earlier passes."""
    run_id, event_id = str(cells["run_id"][0]), EVENT_IDS.make()
    spent = _earlier_seconds(lake, run_id, [*tallies])
    done = {one: replace(tally, seconds=tally.seconds + spent.get(one, 0.0)) for one, tally in tallies.items()}
    now = datetime.now(UTC)
    rows = [
        cell | {"event_id": event_id, "recorded_at": now} | _counts(done[cell["cell_id"]])
        for cell in cells.iter_rows(named=True)
    ]
    name = rows[0]["cell_id"] if len(rows) == 1 else SEVERAL
    lake.write("cells", run_id, f"{name}-{event_id}", pl.DataFrame(rows, infer_schema_length=None))
    return done


def _counts(tally: Tally) -> dict[str, Any]:
    names = ("state", "planned", "answered", "reused", "failed", "input_tokens", "output_tokens", "cost_usd")
    return {name: getattr(tally, name) for name in (*names, "seconds")}


def _earlier_seconds(lake: Lake, run_id: str, cell_ids: list[str]) -> dict[str, float]:
    names = [*(f"{cell_id}-*" for cell_id in cell_ids), f"{SEVERAL}-*"]
    events = lake.scan("cells", run_id, names).filter(pl.col("cell_id").is_in(cell_ids))
    last = events.sort("event_id").group_by("cell_id").agg(pl.col("seconds").last().fill_null(0.0))
    return dict(last.collect().iter_rows())


async def tally_answered(
    lake: Lake, run_id: str, cell_ids: Sequence[str], watch: Watch | None
) -> dict[str, Tally]:
    """Tallies of those of several cells in which nothing is left to ask or to read; their events are recorded."""
    if len(cell_ids) < 2:
        return {}
    tallies: dict[str, Tally] = {}
    for together in await asyncio.to_thread(split_cells, lake, run_id, cell_ids, AT_ONCE):
        started = time.monotonic()
        cells, replies = await asyncio.to_thread(_find_answered, lake, run_id, together)
        if cells.height:
            counted = _count(cells, replies, watch)
            seconds = (time.monotonic() - started) / cells.height
            timed = {one: replace(tally, seconds=seconds) for one, tally in counted.items()}
            tallies |= await asyncio.to_thread(record_cells, lake, cells.select(CELL), timed)
    return tallies


def _find_answered(lake: Lake, run_id: str, cell_ids: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """CELL and the number of cases, `planned`, of the cells with all replies, and these as of `read_landed`."""
    cases = lake.scan("cases", run_id, cell_ids).select(*CELL, "case_id").collect()
    replies = read_landed(lake, run_id, *cell_ids).join(cases.select("case_id", "cell_id", "model"), on="case_id")
    read = replies.filter(pl.col("error_class").is_null())
    left = cases.join(read, on="case_id", how="anti")["cell_id"].unique().implode()
    cells = cases.filter(~pl.col("cell_id").is_in(left)).group_by("cell_id", maintain_order=True)
    first = [pl.col(name).first() for name in CELL if name != "cell_id"]
    return cells.agg(*first, planned=pl.len()), replies.filter(~pl.col("cell_id").is_in(left))


def _count(cells: pl.DataFrame, replies: pl.DataFrame, watch: Watch | None) -> dict[str, Tally]:
    counted = {cell_id: Tally(planned) for cell_id, planned in cells.select("cell_id", "planned").iter_rows()}
    for row in replies.iter_rows(named=True):
        counted[row["cell_id"]] = counted[row["cell_id"]].plus(row)
        if watch:
            watch(row["model"], outcome_of(row, is_kept=True), row["cost_usd"])
    return counted
