"""The nightly job: a run shared out over a work pool, aggregated once, compared with the night before."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
from prefect import get_run_logger
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowFilter, FlowFilterName, FlowRunFilter, FlowRunFilterTags
from prefect.client.schemas.objects import FlowRun, State
from prefect.client.schemas.sorting import FlowRunSort
from prefect.runtime import flow_run
from prefect.settings import get_current_settings
from prefect.states import Failed

from biasgrid.catalogs.choices import NightGate as NightGate
from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.flows.benchmark.flow import describe_cells
from biasgrid.flows.benchmark.kind import BENCHMARK, BenchmarkOptions
from biasgrid.flows.benchmark.outcome import Outcome
from biasgrid.flows.benchmark.previous_runs import compare_with_earlier
from biasgrid.flows.benchmark.sections import publish
from biasgrid.flows.benchmark.summary import NightTables
from biasgrid.flows.benchmark.trend_chart import publish_pictures
from biasgrid.flows.runs.context import Grid, generate_stage, land_replies_of_other_runs, run_tags
from biasgrid.flows.runs.driver import conclude, log_changed_files, run_flow, scenario_name
from biasgrid.flows.runs.outcome import resume_command
from biasgrid.flows.runs.prepare import Prepared, open_lake, refuse_unnamed
from biasgrid.flows.runs.session import Terminated, coordinate_run
from biasgrid.flows.scheduled.alarms import Night, announce, known_causes, ping_well, raise_alarm
from biasgrid.flows.scheduled.blocks import Handed, read_basis
from biasgrid.flows.scheduled.causes import BROKEN, causes_over, other_cause
from biasgrid.flows.scheduled.confirmation import (
    Confirmed,
    pair_of,
    read_confirmation,
    scenario_of_worse,
    skip_confirmation,
)
from biasgrid.flows.scheduled.dispatch import (
    Lost,
    Round,
    describe_state,
    hand_out,
    read_handed_out,
    read_limits,
    refuse_unknown,
)
from biasgrid.flows.scheduled.gaps import AWAY, UNANSWERED, gap_rows, read_gaps
from biasgrid.flows.scheduled.options import PARAMETERS, By, NightOptions, read_deadline
from biasgrid.flows.scheduled.outcome import BROKEN_NIGHT, Ended, causes_of, final_state
from biasgrid.flows.scheduled.shards import Shard, shards, share_rest
from biasgrid.flows.scheduled.spending import read_spending
from biasgrid.flows.scheduled.turns import hand_on, run_id_of, take_turn
from biasgrid.flows.terminal.markdown import Markup
from biasgrid.tasks.connectors.client.retry import format_seconds
from biasgrid.tasks.prompt.run_costs import read_run_costs
from biasgrid.warehouse.expectations.process import Inspector, start_inspector
from biasgrid.warehouse.storage.journal import recover
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunBusy, RunLock
from biasgrid.warehouse.storage.runs import find_run, planned_cells

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

    **Shards**, blocks of cells that take five to ten minutes, go through the work pool of the deployment
    `shard/shard`, as many at a time as the limits of providers feed; a shard whose worker is
    lost is handed out again and goes on where it was, and so, until the deadline, is one whose provider is away.
    When all have ended the warehouse is built once, checked, and the night is compared with the run before it;
    what became worse is asked once more. It ends **Completed**, or failed in a state with a name: `Regression`
    (names the requirement), `Incomplete`, `OverCost`, `NotMet`, `Undecided`, `Broken`. A night whose
    process is asked to end goes back into its pool as `Interrupted`; one that another replaces is `Skipped`.
    """
    if skipped := await take_turn(given.catch_up):
        return skipped
    try:
        return await _run_night(given)
    except Terminated as terminated:
        await hand_on(terminated)
    except Exception as error:  # noqa: BLE001 - a night reports its own failure: people read alarms, not logs
        if not isinstance(error, UserError):
            get_run_logger().exception("the night broke off")
        return await _break_off(given, error)


def name_series(scenario: Any) -> str:
    """Name of the nights of a scenario that may be wrong."""
    named = scenario.get("name") if isinstance(scenario, dict) else None
    return str(named or scenario_name(scenario))


async def _break_off(given: NightOptions, error: Exception) -> State[Any]:
    """Alarms about a night that has found nothing."""
    state: State[Any] = Failed(name=BROKEN_NIGHT, message=str(error) or type(error).__name__, data=error)
    first = (str(state.message).splitlines() or [""])[0]
    cause = other_cause(BROKEN, f"{type(error).__name__}: {first}", datetime.now(UTC), str(state.message))
    night = Night(name_series(given.scenario), "", given.models or ())
    await raise_alarm(night, [cause], [], await known_causes(night))
    announce("", state)
    return state


async def _run_night(given: NightOptions) -> Outcome | State[Any]:
    lake, run_id = open_lake(given.data), given.run_id or run_id_of(flow_run.tags)
    before = find_run(lake, run_id) if run_id else None
    source = before.scenario_resolved if before else refuse_unnamed(given.scenario)
    own = BenchmarkOptions(**given.pick("max_cost", "max_requests")) if run_id else given
    prepared = Prepared(BENCHMARK.unsent(source, own))
    if before:
        log_changed_files(before, prepared)
    deadline = datetime.now(UTC) + timedelta(seconds=read_deadline(given.deadline))
    await refuse_unknown(given.deployment)
    async with coordinate_run(lake, prepared, run_id) as grid:
        cells = await _plan(grid)
        with start_inspector(given.expectations) as inspector:
            night = Round(grid.run.run_id, given.data, given.deployment, given.takeovers, deadline)
            handed = await read_handed_out(grid.run.run_id) if run_id else []
            made = await _split(grid, cells, prepared.resolved, given.shard_by, handed)
            lost = await _hand_out(grid, prepared.resolved, made, night)
            state = await _conclude(grid, lost, given, inspector, night)
        if given.pictures:
            await publish_pictures(lake, grid.run.run_id, grid.resolved.name)
        return state


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


async def _split(
    grid: Grid, cells: pl.DataFrame, resolved: ResolvedScenario, by: By, handed: Sequence[Handed] = ()
) -> list[Shard]:
    """The shards of a run; those that were `handed` out before stay as they are."""
    basis = await asyncio.to_thread(read_basis, grid.lake, grid.run.run_id, resolved.settings)
    limits = await read_limits(resolved.targets.values())
    made = shards(cells, resolved, by, replace(basis, limits=limits, handed=handed))
    expected = format_seconds(sum(shard.seconds for shard in made))
    get_run_logger().info("%d shards of %s in all, if one process asked them", len(made), expected)
    return made


async def _hand_out(grid: Grid, resolved: ResolvedScenario, made: list[Shard], night: Round) -> list[Lost]:
    """Shards that did not complete, after what some left of the caps has gone to those that a cap stopped, and
    after a last pass over requests that failed."""
    lost, before = await hand_out(made, night, grid.graph), 0
    while not _select_gone(lost) and (sent := read_run_costs(grid.lake, night.run_id, {}).requests) > before:
        before = sent
        capped = await asyncio.to_thread(share_rest, grid.lake, night.run_id, made, resolved)
        if not capped:
            break
        parts = {shard.part for shard in capped}
        made = [*capped]
        lost = [one for one in lost if one.shard.part not in parts] + await hand_out(capped, night, grid.graph)
    failed = [one.shard for one in lost if one.state in (AWAY, UNANSWERED)]
    if failed:
        again = await hand_out(failed, replace(night, nth=night.nth + 1, deadline=None), grid.graph)
        lost = [one for one in lost if one.shard not in failed] + again
    return lost


def _select_gone(lost: Sequence[Lost]) -> list[Lost]:
    return [one for one in lost if one.is_gone]


async def _conclude(
    grid: Grid, lost: Sequence[Lost], given: NightOptions, inspector: Inspector | None, night: Round
) -> State[Any]:
    lake, run, scenario = grid.lake, grid.run, grid.resolved.name
    if gone := _select_gone(lost):  # replies that they received before
        await asyncio.to_thread(recover, lake)
    after = grid.graph.after("shard")
    found = await conclude(lake, run, BENCHMARK, inspector, is_whole=not gone, after=after)
    over_cost = await asyncio.to_thread(is_over_cost, lake, run.run_id)
    confirmed = await _confirm(grid, given, inspector, night)
    gaps = await asyncio.to_thread(read_gaps, lake, run.run_id)
    command = resume_command(run.run_id, lake.named)
    spending = await asyncio.to_thread(read_spending, lake, run, is_resumed=bool(given.run_id))
    ended = Ended(
        *(found, confirmed, gone, gaps, given.gate, over_cost, spending, given.bound, run.started_at, command)
    )
    tables = NightTables(await shard_runs(run.run_id), gap_rows(gaps), [series.row for series in spending])
    await publish(lake, found, scenario, confirmed.before, tables)
    state = final_state(ended)
    series = name_series(given.scenario) if given.scenario else scenario
    shown = Night(scenario, run.run_id, [*grid.resolved.targets], _commands(ended, lake), series)
    await _report(ended, state, shown)
    return state


async def _report(ended: Ended, state: State[Any], night: Night) -> None:
    """Raises the alarm of a night, or lets the dead man's switch know that it ended well."""
    causes, known = causes_of(ended), await known_causes(night)
    complete = [pair_of(row) for row in ended.found.findings if row.get("is_complete", True)]
    over = causes_over(known, causes, ended.before.changes, complete)
    await raise_alarm(night, causes, over, known)
    announce(night.run_id, state)
    if state.is_completed():
        await ping_well()


def _commands(ended: Ended, lake: Lake) -> list[str]:
    earlier = list(dict.fromkeys(row["earlier_run_id"] for row in ended.before.changes))[:1]
    own = [ended.found.run_id, "--data", lake.named]
    compare = [shlex.join(["biasgrid", "compare", run, *own]) for run in earlier]
    show = [shlex.join(["biasgrid", "show", *own])]
    return [*(compare if ended.before.worse else show), *([ended.resume] if ended.gaps else [])]


async def _confirm(grid: Grid, given: NightOptions, inspector: Inspector | None, night: Round) -> Confirmed:
    """The comparison with the night before, after what became worse was asked once more by a run of its own."""
    lake, run_id = grid.lake, grid.run.run_id
    before = await asyncio.to_thread(compare_with_earlier, lake, run_id)
    if not before.worse or not given.confirm:
        return Confirmed(before, {})
    settings, spent = grid.resolved.settings, read_run_costs(lake, run_id, grid.resolved.targets)
    cost = None if settings.max_cost is None else settings.max_cost - spent.cost_usd
    requests = None if settings.max_requests is None else settings.max_requests - spent.requests
    if (cost is not None and cost <= 0) or (requests is not None and requests <= 0):
        return skip_confirmation(before, "the cap is spent")
    source = scenario_of_worse(
        grid.run.scenario_resolved, before.worse, {"max_cost": cost, "max_requests": requests}
    )
    names = ", ".join(f"{row['requirement']} of {row['model']}" for row in before.worse)
    get_run_logger().info("asking again what became worse: %s", names)
    try:
        again = await _ask_again(lake, source, given, inspector, night)
    except UserError as problem:
        return skip_confirmation(before, str(problem))
    return await asyncio.to_thread(read_confirmation, lake, before, again)


async def _ask_again(
    lake: Lake, source: dict[str, Any], given: NightOptions, inspector: Inspector | None, night: Round
) -> str:
    """The id of a run of what became worse."""
    prepared = Prepared(BENCHMARK.unsent(source))
    async with coordinate_run(lake, prepared, is_main=False) as grid:
        cells = await _plan(grid)
        own = replace(night, run_id=grid.run.run_id)
        made = await _split(grid, cells, prepared.resolved, given.shard_by)
        lost = await _hand_out(grid, prepared.resolved, made, own)
        after, is_whole = grid.graph.after("shard"), not _select_gone(lost)
        await conclude(lake, grid.run, BENCHMARK, inspector, is_whole=is_whole, after=after)
        return grid.run.run_id
