"""The cells of a run: each is prompted and, as soon as it is complete, evaluated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl
from prefect.client.schemas.objects import State

from catalogs.mistakes import Mistake, UserMistake
from catalogs.models import Target
from flows.batched_models import is_batched
from flows.batching import batch_model
from flows.leases import leased
from flows.stages import Grid, watching
from tasks.connectors.task import Label
from tasks.connectors.workers import hands
from tasks.evaluate.task import evaluate
from tasks.generate.cases import changed_models
from tasks.prompt.prompt import UnderWay, Watch
from tasks.prompt.repeated import repeated
from tasks.prompt.reuse import open_models, reuse_replies
from tasks.prompt.task import STOPPED, prompt

OPEN_CELLS = 8
"""Cells of one model that are begun before those ahead of them have sent their last case: Prefect takes its time
to start a task, and no slot shall be idle meanwhile."""
JUDGED_AT_ONCE = 8
Cell = dict[str, Any]


async def cells_stage(grid: Grid, cells: pl.DataFrame, *, ask: bool = True, judge: bool = True) -> None:
    """Prompt every cell and evaluate each as soon as it is complete; models run side by side."""
    by_model = [own.to_dicts() for own in cells.partition_by("model", maintain_order=True)]
    if ask:
        refuse_changed_models(grid, cells)
        await _stand_ins(grid)
        _tell_plan(grid, by_model)
    judging = asyncio.Semaphore(JUDGED_AT_ONCE)
    try:
        asked = await _asked(grid, ask=ask, judge=judge)
        async with leased(asked, grid.board), asyncio.TaskGroup() as group:
            for own in by_model:
                for work in (
                    _prompting(grid, own, judging if judge else None) if ask else _judging(grid, own, judging)
                ):
                    group.create_task(work)
    except BaseExceptionGroup as several:
        raise _what_broke(several) from None


async def _asked(grid: Grid, *, ask: bool, judge: bool) -> list[Target]:
    """Who has something to answer yet, request by request; a judge may."""
    models = await asyncio.to_thread(open_models, grid.lake, grid.run.run_id) if ask else set()
    targets = [grid.resolved.targets[model] for model in sorted(models)]
    one_by_one = [target for target in targets if not is_batched(target, grid.resolved.scenario.scenario)]
    return [*one_by_one, grid.resolved.judge] if judge and grid.resolved.judge else one_by_one


async def _stand_ins(grid: Grid) -> None:
    """Replies that make asking needless, as the reuse policy has it."""
    settings, run = grid.resolved.scenario.scenario, grid.run
    if settings.reuse == "all":
        await asyncio.to_thread(reuse_replies, grid.lake, run.run_id, run.started_at, settings.max_age)
    if settings.reuse != "none":
        grid.board.expect(await asyncio.to_thread(repeated, grid.lake, run.run_id))


def _tell_plan(grid: Grid, by_model: Sequence[Sequence[Cell]]) -> None:
    if watcher := watching.get():
        watcher.planned(
            grid.run.run_id, {own[0]["model"]: sum(cell["planned"] for cell in own) for own in by_model}
        )


def _tell_stopped(model: str, state: State[Any]) -> None:
    if watcher := watching.get():
        watcher.stopped(model, state.message or "")


def _watch() -> Watch | None:
    return watcher.landed if (watcher := watching.get()) else None


def refuse_changed_models(grid: Grid, cells: pl.DataFrame) -> None:
    """Raises UserMistake where a model is not what it was when its cases were planned: its replies would land
    under the keys of another's."""
    lake, run_id = grid.lake, grid.run.run_id
    first_cells = cells.unique("model", maintain_order=True)["cell_id"]
    if first_cells.is_empty():
        return
    planned = pl.concat(lake.read("cases", run_id, cell_id).head(1) for cell_id in first_cells)
    remedy = "put its address, name or definition back, or start a new run"
    mistakes = [
        Mistake(f"model `{model}` is not what it was when the run began", f"run {run_id}", remedy)
        for model in changed_models(planned, grid.resolved.targets, grid.resolved.catalog)
    ]
    if mistakes:
        raise UserMistake(mistakes)


def _what_broke(several: BaseExceptionGroup) -> BaseException:
    """What ended the cells; the others were stopped for it. A signal, wherever it struck, before all else."""
    leaves: list[BaseException] = [several]
    while any(isinstance(leaf, BaseExceptionGroup) for leaf in leaves):
        leaves = [
            inner
            for leaf in leaves
            for inner in (leaf.exceptions if isinstance(leaf, BaseExceptionGroup) else [leaf])
        ]
    return next((leaf for leaf in leaves if not isinstance(leaf, Exception)), leaves[0])


def _prompting(
    grid: Grid, own: Sequence[Cell], judging: asyncio.Semaphore | None
) -> Sequence[Coroutine[Any, Any, None]]:
    """What there is to do for the cells of one model: all of them in batches, or one by one."""
    target = grid.resolved.targets[own[0]["model"]]
    if is_batched(target, grid.resolved.scenario.scenario):
        return [_batched(grid, target, own, judging)]
    line = Line.of(target)
    return [_in_line(grid, cell, line, judging) for cell in own]


def _judging(grid: Grid, own: Sequence[Cell], judging: asyncio.Semaphore) -> Sequence[Coroutine[Any, Any, None]]:
    return [_evaluated(grid, cell, judging) for cell in own]


async def _batched(grid: Grid, target: Target, own: Sequence[Cell], judging: asyncio.Semaphore | None) -> None:
    await batch_model(
        grid.lake,
        grid.run.run_id,
        target,
        grid.board,
        [cell["cell_id"] for cell in own],
        retries=grid.resolved.scenario.scenario.retries,
        watch=_watch(),
    )
    await asyncio.gather(*(_evaluated(grid, cell, judging) for cell in own))


@dataclass(frozen=True)
class Line:
    """The cells of one model, in line: the next begins when one ahead has sent its last case, not when its last
    answer is in."""

    hands: asyncio.Semaphore
    gate: asyncio.Semaphore

    @classmethod
    def of(cls, target: Target) -> Line:
        return cls(hands(target), asyncio.Semaphore(OPEN_CELLS))

    @asynccontextmanager
    async def begun(self) -> AsyncIterator[UnderWay]:
        """The turn of one cell: what it shares with the others, and how it lets the next one begin."""
        await self.gate.acquire()
        let_next_begin = _once(self.gate.release)
        try:
            yield UnderWay(self.hands, let_next_begin)
        finally:
            let_next_begin()


def _once(act: Callable[[], None]) -> Callable[[], None]:
    """`act`, done when called first; later calls do nothing."""
    left = [act]
    return lambda: left.pop()() if left else None


async def _in_line(grid: Grid, cell: Cell, line: Line, judging: asyncio.Semaphore | None) -> None:
    async with line.begun() as under_way:
        await _prompted(grid, cell, under_way)
    await _evaluated(grid, cell, judging)


async def _prompted(grid: Grid, cell: Cell, under_way: UnderWay) -> None:
    state: State[Any] = await prompt(  # type: ignore[misc]
        grid.lake,
        grid.run.run_id,
        cell["cell_id"],
        grid.resolved.targets[cell["model"]],
        grid.board,
        grid.resolved.scenario.scenario.retries,
        _watch(),
        under_way,
        cell_label("prompt", cell),
        return_state=True,
    )
    if state.name == STOPPED:
        _tell_stopped(cell["model"], state)
    elif not state.is_completed():
        await state.aresult()  # raises what went wrong


async def _evaluated(grid: Grid, cell: Cell, judging: asyncio.Semaphore | None) -> None:
    if judging is None:
        return
    async with judging:
        await evaluate(
            grid.lake,
            grid.run.run_id,
            cell["cell_id"],
            grid.evaluation_id,
            grid.catalog,
            grid.board,
            grid.resolved.judge,
            grid.resolved.scenario.scenario.retries,
            cell_label("evaluate", cell),
        )


def cell_label(verb: str, cell: Cell) -> Label:
    """As people read it in the Prefect UI: `prompt · gpt-4o · sexism · es_es · constrained · utopian`."""
    model = str(cell["model"]).partition("/")[2]
    name = " · ".join((verb, model, cell["concern"], cell["language"], cell["input"], cell["reflection"]))
    return Label(name, (cell["model"], cell["concern"], cell["language"], f"requirement:{cell['requirement']}"))
