"""Evaluation as Prefect tasks: one run per group of grid cells, as soon as its replies are complete."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from prefect import task

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.tasks.connectors.task import RETRIED_TASK, Label
from biasgrid.tasks.evaluate.cell import Evaluation, Judge, evaluate_cells, land_readings
from biasgrid.warehouse.storage.lake import Lake


class ReadyCells:
    """Complete cells, in the order of completion; read only within the event loop that fills it."""

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()
        self._changed = asyncio.Event()
        self._closed = False

    def add(self, cell_id: str) -> None:
        self._waiting.append(cell_id)
        self._changed.set()

    def close(self) -> None:
        """Marks that no further cell follows."""
        self._closed = True
        self._changed.set()

    async def first(self) -> str | None:
        """The cell that has waited longest, once there is one, or None when all have been read; it stays in the
        queue until `read`."""
        while not self._waiting and not self._closed:
            self._changed.clear()
            await self._changed.wait()
        return self._waiting[0] if self._waiting else None

    def read(self) -> None:
        """Removes the first cell."""
        self._waiting.popleft()


@task(name="evaluate", **RETRIED_TASK)
async def evaluate(
    lake: Lake,
    run_id: str,
    cell_ids: Sequence[str],
    evaluation: Evaluation,
    label: Label = Label("evaluate"),  # noqa: B008 - frozen
) -> int:
    """Stores the verdicts on the replies of cells, and returns their number."""
    label.attach()
    return await evaluate_cells(lake, run_id, cell_ids, evaluation)


@task(name="read", **RETRIED_TASK)
async def read_trials(
    lake: Lake,
    run_id: str,
    cells: ReadyCells,
    evaluation_id: str,
    catalog: Catalog,
    label: Label = Label("read"),  # noqa: B008 - frozen
) -> int:
    """Stores the verdicts on a probe's cells, each as soon as it is complete, and returns their number."""
    from biasgrid.tasks.evaluate.probe_verdicts import judge_trials  # the readers of free text: no benchmark's

    # one task run for all: Prefect takes longer for a run than reading the few replies of a cell
    label.attach()
    evaluation = Evaluation(evaluation_id, catalog)
    landed = 0
    while (cell_id := await cells.first()) is not None:
        landed += await asyncio.to_thread(land_readings, lake, run_id, [cell_id], evaluation, judge_trials)
        cells.read()
    return landed


@task(name="read", **RETRIED_TASK)
async def read_replies(
    lake: Lake,
    run_id: str,
    cell_ids: Sequence[str],
    evaluation: Evaluation,
    judge: Judge,
    label: Label = Label("read"),  # noqa: B008 - frozen
) -> int:
    """Stores the verdicts of `judge` on the replies of cells, and returns their number."""
    label.attach()
    return await asyncio.to_thread(land_readings, lake, run_id, cell_ids, evaluation, judge)
