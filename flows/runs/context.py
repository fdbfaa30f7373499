"""Shared context of a run's stages, and the stage that generates its cases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, cast
from uuid import UUID

import polars as pl
from prefect import get_run_logger
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.exceptions import MissingContextError
from prefect.runtime import flow_run
from prefect.utilities.annotations import allow_failure, quote

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.scenario.resolution import Resolved
from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.catalogs.schema.requirements import Requirement
from biasgrid.flows.runs.cell_groups import shared_by
from biasgrid.flows.runs.criteria import Rules, write_criteria
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.concurrency import run_concurrently
from biasgrid.tasks.connectors.task import Label, fit_tags
from biasgrid.tasks.evaluate.controls import ControlQuestion, share_out
from biasgrid.tasks.evaluate.second_opinions import Spare
from biasgrid.tasks.generate.cases import land_cases
from biasgrid.tasks.generate.stored_plans import read_plan
from biasgrid.tasks.generate.task import generate
from biasgrid.tasks.prompt.reuse import earlier_judgements, repeated_requests, reuse_judgements, reuse_replies
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, cells_frame, planned_cells, record_planned


async def tag(run_id: str, resolved: Resolved, part: str | None = None) -> None:
    """Adds to the deployment's tags those of run, part, concerns, languages, models and requirements that fit."""
    asked = resolved.requirements if isinstance(resolved, ResolvedScenario) else ()
    requirements = [f"requirement:{requirement.name}" for requirement in asked]
    about = [*sorted(resolved.concerns), *sorted(resolved.languages)]
    own = [*run_tags(run_id, part), *about, *resolved.targets, *requirements]
    async with get_client() as client:
        await client.update_flow_run(UUID(flow_run.id), tags=fit_tags([*flow_run.tags, *own]))


def run_tags(run_id: str, part: str | None = None) -> list[str]:
    """Tags shared by the flow runs of one run."""
    return [f"run:{run_id}", *([f"part:{part}"] if part else [])]


class ProgressListener(Protocol):
    """Receives progress events of a run."""

    def on_plan(self, run_id: str, requests: dict[str, int]) -> None: ...

    def on_case(self, model: str, outcome: str, cost_usd: float | None) -> None: ...

    def on_stop(self, model: str, why: str) -> None: ...

    def on_wait(self, why: str) -> None: ...


progress_listener: ContextVar[ProgressListener | None] = ContextVar("watching", default=None)


def pause_reporter() -> Callable[[str], None]:
    """Function that reports the reason of a pause to Prefect's log and the progress listener."""
    watcher = progress_listener.get()

    def report(why: str) -> None:
        with suppress(MissingContextError):
            get_run_logger().warning("%s", why)
        if watcher:
            watcher.on_wait(why)

    return report


MOST_EDGES = 500
"""Edges that lead to one task run: each is in its record, and the UI draws no more that anybody could follow."""


@dataclass(frozen=True)
class TaskGraph:
    """Ended task runs by verb and name, for the edges of the graph in Prefect's UI."""

    states: dict[str, dict[str, State[Any]]] = field(default_factory=dict)

    def add(self, verb: str, name: str, state: State[Any]) -> None:
        self.states.setdefault(verb, {})[name] = state

    def after(self, verb: str, *names: str) -> list[Any]:
        """`wait_for` of a task that follows the runs of a verb, or those of these names, however they ended."""
        ended = self.states.get(verb, {})
        found = [ended[name] for name in names or ended if name in ended]
        once = [*{id(state): state for state in found}.values()]  # cells of a group share their state
        return [allow_failure(state) for state in once[-MOST_EDGES:]]


@dataclass(frozen=True)
class Grid:
    """A run with the context that its stages share."""

    lake: Lake
    run: Run
    resolved: Resolved
    model_pool: ModelPool
    again: str | None = None
    """Id of a later evaluation of existing replies."""
    part: str | None = None
    """Name of this process's part of a run split over several."""
    rules: pl.DataFrame | None = None
    """The oracles of a later evaluation, columns as biasgrid.tasks.evaluate.current_oracles.RULES."""
    graph: TaskGraph = field(default_factory=TaskGraph)

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """Requirements of a benchmark; empty for other kinds."""
        return self.resolved.requirements if isinstance(self.resolved, ResolvedScenario) else ()

    @property
    def catalog(self) -> Catalog:
        """For a task's parameters: Prefect looks for futures in every field of every template otherwise,
        which takes longer than the task."""
        return cast(Catalog, quote(self.resolved.catalog))

    @property
    def tags(self) -> list[str]:
        """Tags of its task runs."""
        return run_tags(self.run.run_id, self.part)

    @property
    def evaluation_id(self) -> str:
        """Evaluation id: the run's id for the first, later ones sort after it."""
        return self.again or self.run.run_id


def refuse_changed(grid: Grid, cases: set[str], what: str) -> None:
    """Raises UserError with the differences if a resumed run's cases would change."""
    begun = set(grid.lake.scan("cases", grid.run.run_id).select("case_id").collect()["case_id"])
    if begun and begun != cases:
        text = f"{what} is not what it was when the run began"
        raise UserError(Problem(text, f"run {grid.run.run_id}", "put it back, or start a new run"))


async def generate_stage(grid: Grid) -> pl.DataFrame:
    """Generates and stores cases and planned cells of every requirement × language; returns the cells."""
    asked = [(req, language) for req in grid.requirements for language in req.languages]
    size = shared_by(len(asked))
    groups = [asked[start : start + size] for start in range(0, len(asked), size)]
    gate = asyncio.Semaphore(PLANNED_AT_ONCE)
    plans = await run_concurrently(_generate_plans(grid, group, gate) for group in groups)
    # one frame of all rows: many small ones take a hundred times the memory of their rows
    landed = (_land_plan(grid, plan) for names in plans for plan in names)
    cells = cells_frame(row for rows in landed for row in rows.iter_rows())
    record_criteria(grid)
    record_planned(grid.lake, grid.run.run_id, cells)  # last: a resumed run that finds it has all it needs
    return cells


PLANNED_AT_ONCE = 8
"""Task runs that are under way at once: hundreds would be in memory before the first is done."""
Planned = Sequence[tuple[Requirement, str]]
"""Requirements, each with a language."""


def _land_plan(grid: Grid, plan: str) -> pl.DataFrame:
    lake, resolved = grid.lake, grid.resolved
    instances, targets = read_plan(lake, plan), resolved.targets.values()
    return land_cases(lake, grid.run.run_id, instances, targets, resolved.settings, resolved.catalog)


async def _generate_plans(grid: Grid, group: Planned, gate: asyncio.Semaphore) -> list[str]:
    given = (
        cast(Planned, quote(group)),
        grid.resolved.settings,
        grid.catalog,
        grid.lake,
        _plans_label(grid, group),
    )
    async with gate:
        state: State[list[str]] = await generate(*given, return_state=True)  # type: ignore[misc]
        for requirement, language in group:
            grid.graph.add("generate", f"{requirement.name} {language}", state)
        return await state.aresult()


def _plans_label(grid: Grid, group: Planned) -> Label:
    (first, language), *more = group
    about = f"{first.name} · {language}" if not more else f"{first.name} and {len(more):,} more"
    concerns = dict.fromkeys(part for one, language in group for part in (one.concern, language))
    names = dict.fromkeys(f"requirement:{one.name}" for one, _ in group)
    return Label(f"generate · {about}", (*grid.tags, *concerns, *names))


def record_criteria(grid: Grid) -> None:
    """Stores the rules by which this evaluation's verdicts become findings."""
    hashes = grid.resolved.catalog.hashes
    write_criteria(
        grid.lake, grid.run.run_id, grid.evaluation_id, Rules(grid.resolved.settings, grid.requirements, hashes)
    )


async def reuse_earlier_replies(grid: Grid) -> None:
    """Stores replies that the policy reuses, those of other runs before a run is split."""
    if grid.part is None:
        await land_replies_of_other_runs(grid)
    if grid.resolved.settings.reuse != "none":
        grid.model_pool.expect(await asyncio.to_thread(repeated_requests, grid.lake, grid.run.run_id))


async def land_replies_of_other_runs(grid: Grid) -> None:
    """Stores reusable replies of other runs."""
    settings, run = grid.resolved.settings, grid.run
    if settings.reuse == "all":
        await asyncio.to_thread(reuse_replies, grid.lake, run.run_id, run.started_at, settings.max_age)


async def find_earlier_judgements(grid: Grid) -> Spare | None:
    """Reusable verdicts of the same judge in other runs, or None if the policy forbids it."""
    settings, run, judge = grid.resolved.settings, grid.run, grid.resolved.judge
    if judge is None or settings.reuse != "all":
        return None
    text = await asyncio.to_thread(
        earlier_judgements, grid.lake, run.run_id, judge.model, run.started_at, settings.max_age
    )
    return partial(reuse_judgements, grid.lake, run.run_id, text)


def share_out_controls(grid: Grid) -> Mapping[str, Sequence[ControlQuestion]]:
    """Controls of a judge whose verdicts may count, over all cells of the run, also those of other processes."""
    resolved = grid.resolved
    if not isinstance(resolved, ResolvedScenario) or not resolved.judge or not resolved.settings.judge_overrules:
        return {}
    cells = planned_cells(grid.lake, grid.run.run_id)
    languages = dict(zip(cells["cell_id"], cells["language"], strict=True))
    return share_out(resolved.catalog, languages, resolved.settings.seed)
