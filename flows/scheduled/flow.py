"""The nightly job: a run shared out over a work pool, aggregated once, compared with the night before."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl
from prefect import get_run_logger
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowFilter, FlowFilterName, FlowRunFilter, FlowRunFilterTags
from prefect.client.schemas.objects import FlowRun, State
from prefect.client.schemas.sorting import FlowRunSort
from prefect.events import emit_event
from prefect.runtime import flow_run
from prefect.settings import get_current_settings
from prefect.states import Completed, Failed

from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.catalogs.schema.choices import NightGate as NightGate
from biasgrid.flows.benchmark.flow import describe_cells
from biasgrid.flows.benchmark.kind import BENCHMARK, BenchmarkOptions
from biasgrid.flows.benchmark.outcome import Outcome
from biasgrid.flows.benchmark.previous_runs import EarlierRuns
from biasgrid.flows.benchmark.sections import publish
from biasgrid.flows.benchmark.trend_chart import publish_pictures
from biasgrid.flows.runs.context import Grid, generate_stage, land_replies_of_other_runs, run_tags
from biasgrid.flows.runs.driver import conclude, run_flow
from biasgrid.flows.runs.outcome import NOT_MET, UNDECIDED
from biasgrid.flows.runs.prepare import Prepared, open_lake, refuse_unnamed
from biasgrid.flows.runs.session import coordinate_run
from biasgrid.flows.scheduled.dispatch import Lost, Round, describe_state, hand_out, refuse_unknown
from biasgrid.flows.scheduled.options import PARAMETERS, NightOptions
from biasgrid.flows.scheduled.shards import Shard, shards, share_rest
from biasgrid.flows.terminal.markdown import Markup
from biasgrid.tasks.prompt.run_costs import read_run_costs
from biasgrid.tasks.report.figures import share
from biasgrid.warehouse.expectations.process import Inspector, start_inspector
from biasgrid.warehouse.storage.journal import recover
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunBusy, RunLock
from biasgrid.warehouse.storage.runs import find_run, planned_cells

REGRESSION, INCOMPLETE_NIGHT, OVER_COST = "Regression", "Incomplete", "OverCost"
NOT_MET_STATE, UNDECIDED_STATE = "NotMet", "Undecided"
"""Names of failed states."""
EVENT, RUN = "biasgrid.night.", "biasgrid.run."
"""Prefixes of a nightly event's name and of its run resource."""
NAMED = 3
"""Maximum number of requirements named in a state message."""

CAPPED = """
    select count(*) as requests
    from staging.stg_responses
    where run_id = ? and is_answer and error_class = 'CapReached'
"""
"""What stands in place of an answer: what was asked later, under a higher cap, has one."""


def is_over_cost(lake: Lake, run_id: str) -> bool:
    """Whether a cap of the run prevented a request."""
    from biasgrid.warehouse.build.build import query  # loads DuckDB: none of a night's start

    return bool(query(lake, CAPPED, [run_id], texts_of=run_id).item())


def final_state(
    found: Outcome, before: EarlierRuns, lost: Sequence[Lost], gate: NightGate, *, over_cost: bool
) -> State[Any]:
    """Final state by the most severe problem; a regression is reported even if replies are missing."""
    if before.worse:
        return _fail(REGRESSION, found, f"worse than the night before: {_list_few(map(_change, before.worse))}")
    if over_cost:
        return _fail(OVER_COST, found, "a cap was reached before everything was asked")
    if found.incomplete or lost:
        return _fail(INCOMPLETE_NIGHT, found, _incomplete(lost))
    code = found.exit_code_by("decided" if gate == "decided" else "point")
    if gate != "regression" and code in {NOT_MET, UNDECIDED}:
        return _unmet(found, gate, code)
    return Completed(
        message=f"run {found.run_id}: {found.counts}, {_summarise_changes(before.changes)}", data=found
    )


def announce(run_id: str, state: State[Any]) -> None:
    """Emits an event for automations, such as `biasgrid.night.Regression`."""
    # Prefect holds back its own event of a state for a quarter of an hour if a run was scheduled less than five
    # minutes before it began: it waits for the event of scheduling, and the server's scheduler sends none
    emit_event(
        event=f"{EVENT}{state.name}",
        resource={"prefect.resource.id": f"{RUN}{run_id}", "prefect.resource.name": run_id},
        payload={"run_id": run_id, "state": state.name, "message": state.message},
    )


def _unmet(found: Outcome, gate: NightGate, code: int) -> State[Any]:
    column = "decision" if gate == "decided" else "point_finding"
    unmet = [row for row in found.findings if row[column] != "met"]
    name = NOT_MET_STATE if code == NOT_MET else UNDECIDED_STATE
    return _fail(name, found, _list_few(f"{_whose(row)} is {row[column]}" for row in unmet))


def _fail(name: str, found: Outcome, message: str) -> State[Any]:
    return Failed(name=name, message=f"run {found.run_id}: {message}")


def _incomplete(lost: Sequence[Lost]) -> str:
    if not lost:
        return "coverage is below the scenario's floor"
    return "not everything was asked: " + _list_few(f"{', '.join(one.shard.models)} ({one.why})" for one in lost)


def _change(row: dict[str, Any]) -> str:
    rates = f"passes {share(row['rate'])}, {share(row['earlier_rate'])} before"
    return f"{_whose(row)} {rates} (q = {row['q_value']:.2g})"


def _whose(row: dict[str, Any]) -> str:
    return f"`{row['requirement']}` of {row['model']}"


def _list_few(texts: Iterable[str]) -> str:
    every = list(texts)
    more = f"; and {len(every) - NAMED} more" if len(every) > NAMED else ""
    return "; ".join(every[:NAMED]) + more


def _summarise_changes(changed: Sequence[dict[str, Any]]) -> str:
    if not changed:
        return "no earlier night to compare with"
    better = sum(row["finding"] == "better" for row in changed)
    return f"none worse than the night before, {better} better"


async def shard_runs(run_id: str) -> list[tuple[str, str, str]]:
    """A row for each time that a shard was handed out, in that order: its name, how it ended, a link."""
    async with get_client() as client:
        found = await client.read_flow_runs(
            flow_filter=FlowFilter(name=FlowFilterName(any_=["shard"])),
            flow_run_filter=FlowRunFilter(tags=FlowRunFilterTags(all_=run_tags(run_id))),
            sort=FlowRunSort.START_TIME_ASC,
        )
    return [
        (run.name, describe_state(run.state) if run.state else "–", Markup(f"[open]({address(run)})"))
        for run in found
    ]


def address(run: FlowRun) -> str:
    """Link to a flow run: relative to the UI in which it is read, unless a UI has its own address."""
    settings = get_current_settings()
    by_api = (settings.api.url or "").removesuffix("/api")
    own = settings.ui_url if settings.ui_url and settings.ui_url != by_api else ""
    return f"{own.rstrip('/')}/runs/flow-run/{run.id}"


def _name() -> str:
    began = flow_run.scheduled_start_time
    return f"night of {began:%Y-%m-%d %H:%M} UTC" if began else "night"


@run_flow(NightOptions, PARAMETERS, "nightly", _name)
async def nightly(given: NightOptions) -> Outcome | State[Any]:
    """Test models against ethical requirements, each model on whatever worker has room for it, and report what
    became worse since the night before.

    One **shard** per model goes through the work pool of the deployment `shard/shard`; a shard whose worker is
    lost is handed out again and goes on where it was. When all have ended the warehouse is built once, checked,
    and the night is compared with the run before it. It ends **Completed**, or failed in a state with a name:
    `Regression` (names the requirement), `Incomplete`, `OverCost`, `NotMet`, `Undecided`.
    """
    lake, run_id = open_lake(given.data), given.run_id or _interrupted_run()
    source = find_run(lake, run_id).scenario_resolved if run_id else refuse_unnamed(given.scenario)
    own = BenchmarkOptions(**given.pick("max_cost", "max_requests")) if run_id else given
    prepared = Prepared(BENCHMARK.unsent(source, own))
    await refuse_unknown(given.deployment)
    async with coordinate_run(lake, prepared, run_id) as grid:
        cells = await _plan(grid)
        with start_inspector(given.expectations) as inspector:
            night = Round(grid.run.run_id, given.data, given.deployment, given.takeovers)
            lost = await _hand_out(
                grid, prepared.resolved, shards(cells, prepared.resolved, given.shard_by), night
            )
            state = await _conclude(grid, lost, given.gate, inspector)
        if given.pictures:
            await publish_pictures(lake, grid.run.run_id, grid.resolved.name)
        return state


def _interrupted_run() -> str | None:
    """The run of this flow run if Prefect starts it again, to be resumed."""
    tags: list[str] = flow_run.tags or []
    return next((tag.partition(":")[2] for tag in tags if tag.startswith("run:")), None)


async def _plan(grid: Grid) -> pl.DataFrame:
    """The planned cells, landed with reused replies. Raises `RunBusy` if another process plans the run."""
    lake, run_id = grid.lake, grid.run.run_id
    try:
        with RunLock(lake, run_id):
            recover(lake, run_id)
            lake.separate(run_id)
            cells = planned_cells(lake, run_id)
            if cells.is_empty():
                cells = await generate_stage(grid)
            await land_replies_of_other_runs(grid)
    except RunBusy:  # shards that a night before this one handed out still ask
        cells = planned_cells(lake, run_id)
        if cells.is_empty():
            raise
    grid.run.record(lake, "running")
    get_run_logger().info("%s", describe_cells(run_id, cells))
    return cells


async def _hand_out(grid: Grid, resolved: ResolvedScenario, made: list[Shard], night: Round) -> list[Lost]:
    """Shards that failed, after what some left of the caps has gone to those that a cap stopped."""
    lost, before = await hand_out(made, night), 0
    while not lost and (sent := read_run_costs(grid.lake, night.run_id, {}).requests) > before:
        before = sent
        made = await asyncio.to_thread(share_rest, grid.lake, night.run_id, made, resolved)
        lost = await hand_out(made, night) if made else []
    return lost


async def _conclude(grid: Grid, lost: list[Lost], gate: NightGate, inspector: Inspector | None) -> State[Any]:
    lake, run_id = grid.lake, grid.run.run_id
    if lost:  # replies that they received before
        await asyncio.to_thread(recover, lake)
    found = await conclude(lake, grid.run, BENCHMARK, inspector, is_whole=not lost)
    over_cost = await asyncio.to_thread(is_over_cost, lake, run_id)
    before = await publish(lake, found, grid.resolved.name, await shard_runs(run_id))
    state = final_state(found, before, lost, gate, over_cost=over_cost)
    announce(run_id, state)
    return state
