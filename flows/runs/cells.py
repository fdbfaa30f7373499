"""The cells of a run: each is prompted and, as soon as it is complete, evaluated, many of them in groups."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
from prefect import get_run_logger
from prefect.client.schemas.objects import State

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.runs.cell_groups import (
    COMPLETE_CELLS,
    Cell,
    Group,
    cell_ids_of,
    group_cells,
    group_label,
    shared_by,
)
from biasgrid.flows.runs.context import (
    Grid,
    find_earlier_judgements,
    pause_reporter,
    progress_listener,
    reuse_earlier_replies,
    run_tags,
    share_out_controls,
)
from biasgrid.flows.runs.lease_pools import LeaseLedger, lease_order
from biasgrid.flows.runs.leases import Slots
from biasgrid.flows.runs.prepare import is_batched
from biasgrid.flows.runs.progress_artifacts import report_progress
from biasgrid.flows.terminal.markdown import plain
from biasgrid.tasks.connectors.concurrency import run_concurrently
from biasgrid.tasks.connectors.task import STOPPED, Label
from biasgrid.tasks.connectors.workers import request_slots
from biasgrid.tasks.evaluate.cell import Evaluation, SharedReadings
from biasgrid.tasks.evaluate.controls import ControlQuestion
from biasgrid.tasks.evaluate.judge import JudgeSampling
from biasgrid.tasks.evaluate.second_opinions import JudgeSession, Spare
from biasgrid.tasks.evaluate.task import evaluate
from biasgrid.tasks.generate.cases import changed_models
from biasgrid.tasks.prompt.batch.jobs import requests_waiting
from biasgrid.tasks.prompt.prompt import CellSlots
from biasgrid.tasks.prompt.reuse import open_models
from biasgrid.tasks.prompt.tally import Watch
from biasgrid.tasks.prompt.task import BatchReports, ModelSession, batch, prompt
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import record_planned


async def batch_model(grid: Grid, cell_ids: Sequence[str], session: ModelSession) -> None:
    """Processes one model's cells in batches until all replies and events are stored; marks stopped cells."""
    target, lake, run_id = session.target, grid.lake, grid.run.run_id
    label = Label(f"batch · {target.model.partition('/')[2]}", (target.model, *run_tags(run_id)))
    state: State[Any] = await batch(  # type: ignore[misc]
        lake,
        run_id,
        list(cell_ids),
        session,
        BatchReports(_watch(), pause_reporter(), plain),
        label,
        wait_for=grid.graph.after("generate"),
        return_state=True,
    )
    for cell_id in cell_ids:
        grid.graph.add("prompt", cell_id, state)
    if state.name == STOPPED:
        if watcher := progress_listener.get():
            watcher.on_stop(target.model, state.message or "")
    elif not state.is_completed():
        await state.aresult()


def how_batches_go_on(lake: Lake, run_id: str) -> str | None:
    """Status message of batches at the provider for an interrupted run; None if there are none."""
    waiting = requests_waiting(lake, run_id)
    if not waiting:
        return None
    return (
        f"{waiting:,} requests are in batches that go on at the provider: `biasgrid resume {run_id}` collects them"
    )


OPEN_GROUPS = 4
"""Groups of one model's cells that are begun before those ahead of them have sent their last case: Prefect takes
its time to start a task, and no slot shall be idle meanwhile."""


@dataclass(frozen=True)
class Line:
    """Schedules one model's groups of cells: the next begins when an earlier one has sent its last case."""

    request_slots: asyncio.Semaphore
    gate: asyncio.Semaphore

    @classmethod
    def of(cls, target: Target, *, is_capped: bool = False) -> Line:
        # below a cap, a cell that is complete is worth more than several begun
        return cls(request_slots(target), asyncio.Semaphore(1 if is_capped else OPEN_GROUPS))

    @asynccontextmanager
    async def begun(self) -> AsyncIterator[CellSlots]:
        """Turn of one group, with shared slots and the signal that lets the next group begin."""
        await self.gate.acquire()
        let_next_begin = _once(self.gate.release)
        try:
            yield CellSlots(self.request_slots, let_next_begin, _watch())
        finally:
            let_next_begin()


def _once(act: Callable[[], None]) -> Callable[[], None]:
    """`act`, run only at the first call."""
    left = [act]
    return lambda: left.pop()() if left else None


JUDGED_AT_ONCE = 2
"""Maximum number of groups evaluated at once, because one cell of each is held in memory."""
Work = Coroutine[Any, Any, None]
Reader = Callable[[Grid, Group], Work]


@dataclass(frozen=True)
class Pass:
    """Shared settings of one pass through a run's cells."""

    grid: Grid
    slots: Slots
    judges: bool
    spare: Spare | None = None
    reader: Reader | None = None
    """Reads replies instead of oracles and a judge."""
    controls: Mapping[str, Sequence[ControlQuestion]] = field(default_factory=dict)
    """Replies of known verdict for the judge, by the cell with which they are mixed."""
    open_models: Collection[str] = ()
    """Models with open requests: their cells are shown one by one, unless there are hundreds."""
    shared_by: int = 1
    """Cells of such models that share a task run."""
    judging: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(JUDGED_AT_ONCE))
    readings: SharedReadings = field(default_factory=SharedReadings)

    @property
    def judge(self) -> Target | None:
        return self.grid.resolved.judge if self.judges else None

    def group(self, cells: Sequence[Cell]) -> list[Group]:
        """Groups of one model's cells."""
        is_open = cells[0]["model"] in self.open_models
        return group_cells(cells, self.shared_by if is_open else max(self.shared_by, COMPLETE_CELLS))


async def cells_stage(
    grid: Grid, cells: pl.DataFrame, *, ask: bool = True, judge: bool = True, reader: Reader | None = None
) -> list[str]:
    """Prompts and evaluates (or reads) all cells, models in parallel; returns messages about stopped models."""
    by_model = [own.to_dicts() for own in cells.partition_by("model", maintain_order=True)]
    if ask:
        refuse_changed_models(grid, cells)
        await reuse_earlier_replies(grid)
    unanswered = await asyncio.to_thread(open_models, grid.lake, grid.run.run_id) if ask else set()
    asked = _one_by_one(grid, unanswered)
    spare = await find_earlier_judgements(grid) if judge else None
    controls = await asyncio.to_thread(share_out_controls, grid) if judge else {}
    ledger = LeaseLedger.of(grid.lake, grid.run.run_id, grid.part)
    telling = report_progress(grid.run.run_id, _cases_by_model(by_model)) if ask else nullcontext()
    leasing = [*asked.values(), *_judges(grid, judge=judge)]
    async with telling as progress, Slots(grid.model_pool, leasing, ledger) as slots:
        own = Pass(grid, slots, judge, spare, reader, controls, unanswered, shared_by(cells.height))
        await run_concurrently(_works(own, by_model, asked) if ask else _evaluation_works(own, by_model))
    return [str(standing) for standing in progress.standings.values()] if progress else []


def _works(own: Pass, by_model: Sequence[Sequence[Cell]], asked: Collection[str]) -> Iterator[Work]:
    """Work of sequential models, which need slots, and of batched or already complete ones."""
    yield _prompt_one_by_one(own, [cells for cells in by_model if cells[0]["model"] in asked])
    for cells in by_model:
        if cells[0]["model"] not in asked:
            yield from _prompt_model(own, cells)


async def _prompt_one_by_one(own: Pass, by_model: Sequence[Sequence[Cell]]) -> None:
    if not by_model:
        return
    async with own.slots.taken():
        await run_concurrently(work for cells in by_model for work in _prompt_model(own, cells))
        own.slots.targets = _judges(own.grid, judge=own.judges)


def _one_by_one(grid: Grid, unanswered: Set[str]) -> dict[str, Target]:
    """Models with open requests outside batches, which share rate-limit slots."""
    targets = {model: grid.resolved.targets[model] for model in sorted(unanswered & grid.resolved.targets.keys())}
    settings = grid.resolved.settings
    leasing = (
        model for model, target in targets.items() if lease_order([target]) and not is_batched(target, settings)
    )
    return {model: targets[model] for model in leasing}


def _judges(grid: Grid, *, judge: bool) -> list[Target]:
    return [grid.resolved.judge] if judge and grid.resolved.judge else []


def _cases_by_model(by_model: Sequence[Sequence[Cell]]) -> dict[str, int]:
    """Cases, by model."""
    return {own[0]["model"]: sum(cell["planned"] for cell in own) for own in by_model}


def _report_stopped(model: str, state: State[Any]) -> None:
    if watcher := progress_listener.get():
        watcher.on_stop(model, state.message or "")


def _watch() -> Watch | None:
    return watcher.on_case if (watcher := progress_listener.get()) else None


def refuse_changed_models(grid: Grid, cells: pl.DataFrame) -> None:
    """Raises UserError if a model's definition changed after its cases were planned."""
    lake, run_id = grid.lake, grid.run.run_id
    first_cells = cells.unique("model", maintain_order=True)["cell_id"]
    if first_cells.is_empty():
        return
    planned = pl.concat(lake.read("cases", run_id, cell_id).head(1) for cell_id in first_cells)
    remedy = "put its address, name or definition back, or start a new run"
    mistakes = [
        Problem(f"model `{model}` is not what it was when the run began", f"run {run_id}", remedy)
        for model in changed_models(planned, grid.resolved.targets, grid.resolved.catalog)
    ]
    if mistakes:
        raise UserError(mistakes)


def _prompt_model(own: Pass, cells: Sequence[Cell]) -> Sequence[Work]:
    """Work for one model's cells: all in a batch, or one by one."""
    target = own.grid.resolved.targets[cells[0]["model"]]
    if is_batched(target, own.grid.resolved.settings):
        return [_batch_cells(own, target, cells)]
    budget = own.grid.model_pool.run_budget
    line = Line.of(target, is_capped=budget is not None and budget.is_capped)
    return [_in_line(own, group, line) for group in own.group(cells)]


def _evaluation_works(own: Pass, by_model: Sequence[Sequence[Cell]]) -> Iterator[Work]:
    return (_evaluate_group(own, group) for cells in by_model for group in own.group(cells))


async def _batch_cells(own: Pass, target: Target, cells: Sequence[Cell]) -> None:
    grid = own.grid
    session = ModelSession(target, grid.model_pool, grid.resolved.settings.retries)
    await batch_model(grid, [cell["cell_id"] for cell in cells], session)
    await run_concurrently(_evaluation_works(replace(own, open_models=()), [cells]))


async def _in_line(own: Pass, group: Group, line: Line) -> None:
    async with line.begun() as under_way:
        await _prompt_group(own.grid, group, under_way)
    await _evaluate_group(own, group)


async def _prompt_group(grid: Grid, group: Group, under_way: CellSlots) -> None:
    model = group[0]["model"]
    state: State[Any] = await prompt(  # type: ignore[misc]
        grid.lake,
        grid.run.run_id,
        cell_ids_of(group),
        ModelSession(grid.resolved.targets[model], grid.model_pool, grid.resolved.settings.retries),
        under_way,
        group_label("prompt", group, grid.tags),
        wait_for=grid.graph.after("generate", *(f"{cell['requirement']} {cell['language']}" for cell in group)),
        return_state=True,
    )
    for cell_id in cell_ids_of(group):
        grid.graph.add("prompt", cell_id, state)
    if state.name == STOPPED:
        _report_stopped(model, state)
    elif not state.is_completed():
        await state.aresult()  # raises what went wrong


async def _evaluate_group(own: Pass, group: Group) -> None:
    """Evaluates cells; only a judge needs rate-limit slots."""
    if own.reader:
        async with own.judging:
            await own.reader(own.grid, group)
    if not own.judges:
        return
    own.readings.waiting |= {cell["cell_id"]: cell["planned"] for cell in group}
    async with own.judging, own.slots.taken() if own.judge else nullcontext():
        await _judge_group(own, group)


async def _judge_group(own: Pass, group: Group) -> None:
    grid, cell_ids = own.grid, cell_ids_of(group)
    judge = _judge_session(own, cell_ids)
    evaluation = Evaluation(grid.evaluation_id, grid.catalog, judge, grid.rules, own.readings)
    label = group_label("evaluate", group, grid.tags)
    state: State[int] = await evaluate(  # type: ignore[misc]
        *(grid.lake, grid.run.run_id, cell_ids, evaluation, label),
        wait_for=grid.graph.after("prompt", *cell_ids),
        return_state=True,
    )
    await state.aresult()
    for cell_id in cell_ids:
        grid.graph.add("evaluate", cell_id, state)


def _judge_session(own: Pass, cell_ids: Sequence[str]) -> JudgeSession | None:
    if own.judge is None:
        return None
    settings = own.grid.resolved.settings
    controls = {cell_id: own.controls[cell_id] for cell_id in cell_ids if cell_id in own.controls}
    return JudgeSession(
        own.judge, own.grid.model_pool, settings.retries, own.spare, JudgeSampling.of(settings), controls
    )


def begin_cells(grid: Grid, cells: pl.DataFrame, unit: str) -> dict[str, Cell]:
    """Records planned cells of `unit`s and that the run sends requests; the cells by id."""
    record_planned(grid.lake, grid.run.run_id, cells)
    grid.run.record(grid.lake, "running")
    planned = cells["planned"].sum()
    get_run_logger().info("run %s: %d %s in %d cells", grid.run.run_id, planned, unit, cells.height)
    return {cell["cell_id"]: cell for cell in cells.to_dicts()}


async def run_leased(grid: Grid, works: Iterable[Work]) -> None:
    """Runs works of conversations while slots of all their models are held."""
    ledger = LeaseLedger.of(grid.lake, grid.run.run_id, grid.part)
    leasing = [target for target in grid.resolved.asked if lease_order([target])]
    async with Slots(grid.model_pool, leasing, ledger) as slots, slots.taken():
        await run_concurrently(works)
