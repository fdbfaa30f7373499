"""Runs any kind as a flow: prepare, execute, aggregate, record and publish artifacts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial, wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar, cast

from prefect import Flow, get_run_logger
from prefect.events import emit_event
from prefect.runtime import deployment, flow_run
from prefect.states import Completed, Failed
from pydantic_core import to_jsonable_python

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.operations.environment import secret_blocks
from biasgrid.flows.runs.context import Grid, run_tags
from biasgrid.flows.runs.kinds import E, F, R, RunKind
from biasgrid.flows.runs.options import RunOptions, flow_parameters
from biasgrid.flows.runs.outcome import read_rows, resume_command
from biasgrid.flows.runs.prepare import Prepared, open_lake, prepared_before, refuse_unnamed
from biasgrid.flows.runs.run_state import describe_changed_files
from biasgrid.flows.runs.session import run_session, share_caps
from biasgrid.flows.telemetry import observer as telemetry
from biasgrid.flows.telemetry.events import RunEnd
from biasgrid.tasks.aggregate.task import aggregate
from biasgrid.tasks.connectors.task import Label
from biasgrid.warehouse.build import load_warehouse
from biasgrid.warehouse.expectations.process import Inspector, start_inspector
from biasgrid.warehouse.storage.compaction import compact_run, find_superseded, remove_superseded
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunBusy
from biasgrid.warehouse.storage.runs import Run, State, find_run

P = ParamSpec("P")
T = TypeVar("T")
O = TypeVar("O")  # noqa: E741 - a class of options
Work = Callable[P, Coroutine[Any, Any, T]]


def report_user_errors(work: Work[P, T]) -> Work[P, T]:
    """Turns a `UserError` into a log line and a failed state; Python callers still receive the exception."""

    @wraps(work)
    async def text(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await work(*args, **kwargs)
        except UserError as mistake:
            get_run_logger().error("%s", mistake)
            return cast(T, Failed(message=str(mistake), data=mistake))

    # Prefect would look for the names of its types in this module
    text.__signature__ = signature(work, eval_str=True)  # type: ignore[attr-defined]
    return text


ENDED = ("completed", "incomplete")


class RunFlow(Flow[P, T]):
    """A flow whose parameters pydantic writes as JSON: Prefect imports FastAPI for that, a quarter of a second."""

    def serialize_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {name: to_jsonable_python(value) for name, value in parameters.items()}


def run_flow(
    options: type[O], parameters: str, name: str, title: Callable[[], str] | str, **defaults: Any
) -> Callable[[Callable[[O], Coroutine[Any, Any, T]]], Flow[..., Coroutine[Any, Any, T]]]:
    """Makes a function of options a flow that takes those in `parameters`; a user's error ends it in words."""

    def decorate(work: Callable[[O], Coroutine[Any, Any, T]]) -> Flow[..., Coroutine[Any, Any, T]]:
        start = report_user_errors(flow_parameters(options, parameters, **defaults)(work))
        return RunFlow(start, name=name, flow_run_name=title, validate_parameters=True, persist_result=False)

    return decorate


def kind_flow(
    kind: RunKind[R, F, E],
) -> Callable[[Callable[[Any], Coroutine[Any, Any, E]]], Flow[..., Coroutine[Any, Any, E]]]:
    """Makes a function of a kind's options the flow of that kind."""

    def title() -> str:
        return run_title(kind.name, kind.source)

    return run_flow(kind.options, kind.parameters, kind.name, title)


def run_title(name: str, source: str) -> str:
    """`probe · <run or file>`, as the Prefect UI lists a run of a flow."""
    given = flow_run.parameters
    return f"{name} · {given.get('run_id') or scenario_name(given.get(source))}"


def scenario_name(scenario: Any) -> str:
    """A file's name without folder and ending; `scenario` for contents."""
    if isinstance(scenario, str) and not scenario.lstrip().startswith("{"):
        return scenario.replace("\\", "/").rpartition("/")[2].rpartition(".")[0] or scenario
    return "scenario"


async def run_kind(
    kind: RunKind[R, F, E],
    given: RunOptions,
    play: Callable[[Grid, R], Awaitable[None]],
    publish: Callable[[Lake, E, str], Awaitable[None]] | None = None,
) -> E:
    """Executes a new or resumed run; `play` sends requests and reads replies."""
    lake: Lake | None = open_lake(given.data) if given.run_id else None
    before = find_run(lake, given.run_id) if lake else None
    source = before.scenario_resolved if before else getattr(given, kind.source)
    if source is None and given.models:
        source = kind.blank
    source = refuse_unnamed(source)
    prepared: Prepared[R] = prepared_before(kind.name) or kind.prepare(source, given, secret_blocks())
    if before:
        log_changed_files(before, prepared)
    lake = lake or open_lake(given.data)
    async with run_session(lake, prepared, given.run_id) as grid:
        loading = asyncio.create_task(asyncio.to_thread(load_warehouse, lake.database.exists()))
        with start_inspector(given.expectations) as inspector:
            await share_caps(kind, grid, partial(play, grid, prepared.resolved))
            await loading
            found = await conclude(lake, grid.run, kind, inspector, after=grid.graph.after("evaluate"))
        await (publish or kind.publish)(lake, found, prepared.resolved.name)
    if found.incomplete:
        _alarm_incomplete(f"{kind.name} {prepared.resolved.name}", lake, grid.run.run_id, found)
    return completed_state(found)


def log_changed_files(run: Run, prepared: Prepared[Any]) -> None:
    """Logs which catalog files are not as when a run was planned that is resumed."""
    if changed := describe_changed_files(run, prepared.resolved.catalog.hashes):
        get_run_logger().warning("%s", changed)


ALARM, RUN = "biasgrid.alarm.", "biasgrid.run."
"""Prefixes of the names of an alarm's event, and of a run's resource."""


def _alarm_incomplete(name: str, lake: Lake, run_id: str, found: Any) -> None:
    """Alarms about a run of a deployment that no terminal shows."""
    if deployment.id:
        body = f"run {run_id}: {found}\n\n{found.warning}\n\n{resume_command(run_id, lake.named)}"
        emit_alarm(run_id, "incomplete", f"biasgrid incomplete: {name}", body)


def emit_alarm(run_id: str, severity: str, subject: str, body: str) -> None:
    """Emits the event `biasgrid.alarm.<severity>`, which the automation of alarms sends on."""
    payload = {"severity": severity, "subject": subject, "body": body, "run_id": run_id}
    emit_event(f"{ALARM}{severity}", run_resource(run_id), payload=payload)


def run_resource(run_id: str) -> dict[str, str]:
    """The resource of events about a run; of the flow run if its id is not known."""
    named = run_id or str(flow_run.id)
    return {"prefect.resource.id": f"{RUN}{named}", "prefect.resource.name": named}


async def conclude(
    lake: Lake,
    run: Run,
    kind: RunKind[R, F, E],
    inspector: Inspector | None = None,
    *,
    is_whole: bool = True,
    after: Sequence[Any] = (),
) -> E:
    """Aggregates a run `after` its tasks, reads its outcome from the marts and records it; incomplete runs stay
    resumable."""
    run.record(lake, "aggregating" if is_whole else "interrupted")
    await asyncio.to_thread(kind.settle, lake, run.run_id)
    if is_whole:
        await asyncio.to_thread(_compact, lake, run.run_id)
    await build_warehouse(lake, run.run_id, inspector, after=after)
    found = kind.outcome(lake, run.run_id, is_checked=inspector is not None)
    if is_whole:
        run.record(lake, "incomplete" if found.incomplete else "completed")
        await asyncio.to_thread(_sign, lake, run.run_id)
        await asyncio.to_thread(_report_end, lake, run, "incomplete" if found.incomplete else "completed")
    if is_whole and found.incomplete:  # which only the marts know: recorded, and built once more with it
        await build_warehouse(lake, run.run_id, inspector, "aggregate · marked as incomplete", after)
    return warn_of_gaps(found)


def _compact(lake: Lake, run_id: str) -> None:
    with suppress(RunBusy):  # a part that counted as lost still writes: the next compaction takes the run
        compact_run(lake, run_id)


def _sign(lake: Lake, run_id: str) -> None:
    """Adds the event of its end to a run's signed files."""
    from biasgrid.warehouse.build.build import hold_build_lock

    with suppress(RunBusy), hold_build_lock(lake):
        compact_run(lake, run_id)
        remove_superseded(lake, find_superseded(lake, run_id, ("runs",)))  # warehouses have a copy of its rows


VERDICTS = """
    select model, outcome, count(*) as n
    from staging.stg_verdicts
    inner join intermediate.int_planned_cells using (run_id, cell_id)
    where run_id = ? and level = 'instance'
    group by model, outcome
"""
SCENARIO = "select scenario from marts.runs where run_id = ?"


def _report_end(lake: Lake, run: Run, state: State) -> None:
    if telemetry.start():
        verdicts, names = read_rows(lake, run.run_id, VERDICTS, SCENARIO)
        counts = {(row["model"], row["outcome"]): row["n"] for row in verdicts}
        telemetry.report_end(RunEnd(run.run_id, run.kind, names[0]["scenario"], state, counts))


async def conclude_again(lake: Lake, run: Run, kind: RunKind[R, F, E], inspector: Inspector | None) -> E:
    """Aggregates after a later evaluation and updates the run's state only if its completeness changed."""
    await asyncio.to_thread(kind.settle, lake, run.run_id)
    await asyncio.to_thread(_compact, lake, run.run_id)
    await build_warehouse(lake, run.run_id, inspector)
    found = kind.outcome(lake, run.run_id, is_checked=inspector is not None)
    state: State = "incomplete" if found.incomplete else "completed"
    if run.state in ENDED and run.state != state:
        run.record(lake, state)
        await asyncio.to_thread(_sign, lake, run.run_id)
        await build_warehouse(lake, run.run_id, inspector, f"aggregate · marked as {state}")
    return warn_of_gaps(found)


async def build_warehouse(
    lake: Lake, run_id: str, inspector: Inspector | None, name: str = "aggregate", after: Sequence[Any] = ()
) -> None:
    """Rebuilds the warehouse `after` the tasks whose rows it reads, and logs the duration."""
    started = time.monotonic()
    await aggregate(lake, inspector, Label(name, tuple(run_tags(run_id))), wait_for=after)
    checked, seconds = "built and checked" if inspector else "built", time.monotonic() - started
    get_run_logger().info("the warehouse is %s in %.1f s", checked, seconds)
    telemetry.report_build(run_id, seconds)


def completed_state(found: E) -> E:
    """Flow result whose state shows the run's outcome in the UI."""
    return cast(E, Completed(message=str(found), data=found))


def warn_of_gaps(found: E) -> E:
    """Logs that a run is incomplete, with its most frequent failure."""
    if found.incomplete:
        get_run_logger().warning("%s", found.warning)
    return found
