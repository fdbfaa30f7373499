"""The verbs in their order, over the grid. Each stage starts Prefect tasks; none holds logic of its own."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, cast

import polars as pl
from prefect.client.schemas.objects import State
from prefect.utilities.annotations import quote

from catalogs.catalog import Catalog
from catalogs.mistakes import Mistake, UserMistake
from catalogs.models import Target
from catalogs.scenario import ResolvedScenario
from catalogs.schema import Requirement
from tasks.connectors.switchboard import Switchboard
from tasks.evaluate.task import evaluate
from tasks.generate.cases import changed_models, plan_hash
from tasks.generate.land import CELL, land_cases, record_planned
from tasks.generate.task import generate
from tasks.prompt.repeated import repeated
from tasks.prompt.reuse import reuse_replies
from tasks.prompt.task import STOPPED, prompt
from warehouse.lake import Lake
from warehouse.runs import Run

OPEN_CELLS = 8
"""Cells of one model under way at once: enough that a slow last answer leaves no slot idle."""


class Watcher(Protocol):
    """Who is told how a run goes on: the terminal's progress, where there is one."""

    def planned(self, run_id: str, requests: dict[str, int]) -> None: ...

    def landed(self, model: str, outcome: str) -> None: ...


watching: ContextVar[Watcher | None] = ContextVar("watching", default=None)


@dataclass(frozen=True)
class Grid:
    """A run with what its stages share."""

    lake: Lake
    run: Run
    resolved: ResolvedScenario
    board: Switchboard

    @property
    def catalog(self) -> Catalog:
        """For a task's parameters: Prefect looks for futures in every field of every template otherwise,
        which takes longer than the task."""
        return cast(Catalog, quote(self.resolved.catalog))

    @property
    def evaluation_id(self) -> str:
        """A run's first evaluation bears the run's id; later ones sort after it."""
        return self.run.run_id


async def generate_stage(grid: Grid) -> pl.DataFrame:
    """Generate every requirement × language, land the cases and the planned cells; returns the cells."""
    asked = [(req, language) for req in grid.resolved.requirements for language in req.languages]
    plans = await asyncio.gather(*(_generated(grid, req, language) for req, language in asked))
    catalog, settings = grid.resolved.catalog, grid.resolved.scenario.scenario
    cells = pl.concat(
        land_cases(
            grid.lake,
            grid.run.run_id,
            grid.lake.read_plan(plan),
            grid.resolved.targets.values(),
            settings,
            catalog,
        )
        for plan in plans
    )
    record_criteria(grid)
    record_planned(grid.lake, grid.run.run_id, cells)  # last: a resumed run that finds it has all it needs
    return cells


async def _generated(grid: Grid, requirement: Requirement, language: str) -> str:
    settings, catalog = grid.resolved.scenario.scenario, grid.resolved.catalog
    stored = grid.lake.has_plan(plan_hash(requirement, language, settings, catalog))
    task = generate.with_options(
        task_run_name=literal(f"generate · {requirement.name} · {language}"),
        refresh_cache=not stored,  # Prefect remembers a plan that has been deleted from the lake
    )
    tags = [requirement.concern, language, f"requirement:{requirement.name}"]
    return await task(requirement, language, settings, grid.catalog, grid.lake, tags)


def record_criteria(grid: Grid) -> None:
    """Lands the rules by which this evaluation's verdicts become findings."""
    settings, now = grid.resolved.scenario.scenario, datetime.now(UTC)
    rows = [
        {
            "run_id": grid.run.run_id,
            "evaluation_id": grid.evaluation_id,
            "recorded_at": now,
            "requirement": requirement.name,
            "concern": requirement.concern,
            "rationale": requirement.rationale,
            "tolerance": requirement.tolerance,
            "delta": requirement.delta,
            "refusals": requirement.refusals,
            "max_refusals": requirement.max_refusals,
            "coverage": settings.coverage,
            "judge": settings.judge,
        }
        for requirement in grid.resolved.requirements
    ]
    lake, frame = grid.lake, pl.DataFrame(rows, schema_overrides={"judge": pl.String})
    lake.write("criteria", grid.run.run_id, grid.evaluation_id, frame)


def planned_cells(lake: Lake, run_id: str) -> pl.DataFrame:
    """The cells of a run whose cases have landed, in the order in which they were planned."""
    events = lake.read("cells", run_id, "planned-*")
    return events.unique("cell_id", keep="last", maintain_order=True).select(*CELL, "planned")


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


async def cells_stage(grid: Grid, cells: pl.DataFrame, *, ask: bool = True, judge: bool = True) -> None:
    """Prompt every cell and evaluate each as soon as it is complete; models run side by side."""
    by_model = cells.partition_by("model", maintain_order=True)
    if ask:
        refuse_changed_models(grid, cells)
        if grid.resolved.scenario.scenario.reuse == "all":
            await asyncio.to_thread(reuse_replies, grid.lake, grid.run.run_id)
        grid.board.expect(repeated(grid.lake, grid.run.run_id))
    if ask and (watcher := watching.get()):
        watcher.planned(grid.run.run_id, {own["model"][0]: int(own["planned"].sum()) for own in by_model})
    try:
        async with asyncio.TaskGroup() as group:
            for own in by_model:
                gate = asyncio.Semaphore(OPEN_CELLS)
                for cell in own.to_dicts():
                    group.create_task(_cell(grid, cell, gate, ask=ask, judge=judge))
    except BaseExceptionGroup as several:
        raise _what_broke(several) from None


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


async def _cell(grid: Grid, cell: dict[str, Any], gate: asyncio.Semaphore, *, ask: bool, judge: bool) -> None:
    async with gate:
        if ask:
            await _prompted(grid, cell)
        if judge:
            await _evaluated(grid, cell)


async def _prompted(grid: Grid, cell: dict[str, Any]) -> None:
    settings = grid.resolved.scenario.scenario
    task = prompt.with_options(task_run_name=cell_name("prompt", cell))
    state: State[Any] = await task(  # type: ignore[misc]
        grid.lake,
        grid.run.run_id,
        cell["cell_id"],
        _target(grid, cell),
        grid.board,
        settings.retries,
        watcher.landed if (watcher := watching.get()) else None,
        cell_tags(cell),
        return_state=True,
    )
    if not state.is_completed() and state.name != STOPPED:
        await state.aresult()  # raises what went wrong


async def _evaluated(grid: Grid, cell: dict[str, Any]) -> None:
    settings = grid.resolved.scenario.scenario
    task = evaluate.with_options(task_run_name=cell_name("evaluate", cell))
    await task(
        grid.lake,
        grid.run.run_id,
        cell["cell_id"],
        grid.evaluation_id,
        grid.catalog,
        grid.board,
        grid.resolved.judge,
        settings.retries,
        cell_tags(cell),
    )


def _target(grid: Grid, cell: dict[str, Any]) -> Target:
    return grid.resolved.targets[cell["model"]]


def cell_name(verb: str, cell: dict[str, Any]) -> str:
    """As people read it in the Prefect UI: `prompt · gpt-4o · sexism · es_es · constrained · utopian`."""
    model = str(cell["model"]).partition("/")[2]
    return literal(" · ".join((verb, model, cell["concern"], cell["language"], cell["input"], cell["reflection"])))


def literal(name: str) -> str:
    """A name in which Prefect, which fills its braces with a task's parameters, finds none."""
    return name.replace("{", "{{").replace("}", "}}")


def cell_tags(cell: dict[str, Any]) -> list[str]:
    """By which a cell's task runs are found in the Prefect UI."""
    return [cell["model"], cell["concern"], cell["language"], f"requirement:{cell['requirement']}"]
