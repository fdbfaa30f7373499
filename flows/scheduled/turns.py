"""Nights in their order, one at a time; flow runs that another process continues."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NoReturn
from uuid import UUID

from prefect import get_run_logger
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterDeploymentId, FlowRunFilterExpectedStartTime
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.responses import OrchestrationResult
from prefect.client.schemas.sorting import FlowRunSort
from prefect.events import emit_event
from prefect.exceptions import Pause
from prefect.runtime import flow_run
from prefect.states import Completed, Scheduled

from biasgrid.flows.runs.session import Terminated
from biasgrid.flows.scheduled.options import CatchUp
from biasgrid.tasks.report.figures import moment

INTERRUPTED, QUEUED, SKIPPED = "Interrupted", "Queued", "Skipped"
"""States of flow runs that go back into their pool, and of nights that do not run."""
CANCELLED: Final = {StateType.CANCELLING, StateType.CANCELLED}
"""Cancelled states; a cancelled process counts as crashed until its worker notices its end."""
OPEN: Final = {StateType.SCHEDULED, StateType.PENDING, StateType.RUNNING}
MISSED: Final = timedelta(minutes=15)
"""How much later than its time a night begins that was missed."""
PUT_BACK: Final = "biasgrid.flow-run.put-back"
"""Event of a run that waits in its pool, so that it is not taken for lost. Prefect's own event of its state comes
a quarter of an hour late if the server scheduled the run."""
SETTLE_S: Final = 5.0
"""For the heartbeat of this process to be recorded before that event: the server takes several at once."""
TURN_S: Final = 30.0
"""Seconds after which a queued night tries again; Prefect's interval for concurrency slots."""


async def is_cancelled(client: PrefectClient) -> bool:
    """Whether this flow run was cancelled."""
    own = await client.read_flow_run(UUID(flow_run.id))
    return own.state is not None and own.state.type in CANCELLED


async def hand_on(terminated: Terminated) -> NoReturn:
    """After SIGTERM: puts this flow run back into its pool, for the next worker, unless it was cancelled. Raises
    Prefect's `Pause`, or `terminated` if there is no pool."""
    async with get_client() as client:
        own = await client.read_flow_run(UUID(flow_run.id))
        if own.state is not None and own.state.type in CANCELLED:
            # the worker records the end; a state of ours would be another event, and another alarm
            raise Pause("it was cancelled; what was in flight has landed", state=own.state)
        if own.deployment_id is not None:
            await _put_back(client, INTERRUPTED, "its process was asked to end; what was in flight has landed")
    raise terminated


async def _put_back(client: PrefectClient, name: str, message: str, wait_s: float = 0.0) -> None:
    """Raises Prefect's `Pause`, at which its engine ends this process and leaves the flow run scheduled."""
    at = datetime.now(UTC) + timedelta(seconds=wait_s)
    get_run_logger().warning("%s: %s", name, message)
    state: State[Any] = Scheduled(scheduled_time=at, name=name, message=message)
    answer: OrchestrationResult[Any] = await client.set_flow_run_state(UUID(flow_run.id), state)
    if answer.state is not None and answer.state.is_scheduled():
        emit_event(PUT_BACK, {"prefect.resource.id": f"prefect.flow-run.{flow_run.id}"})
        raise Pause(message, state=answer.state)


async def take_turn(catch_up: CatchUp) -> State[Any] | None:
    """None if this night runs now; the state of one that is skipped. One that follows others that are still to run
    goes back into its pool."""
    if flow_run.id is None:
        return None
    async with get_client() as client:
        own = await client.read_flow_run(UUID(flow_run.id))
        if not own.auto_scheduled or own.deployment_id is None or run_id_of(own.tags):
            return None  # it was asked for now, or has begun
        others = await _due_nights(client, own)
        if catch_up == "all":
            earlier = [run for run in others if _due(run) < _due(own) and run.state and run.state.type in OPEN]
            if earlier:
                first = min(map(_due, earlier))
                await asyncio.sleep(SETTLE_S)
                await _put_back(client, QUEUED, f"the night of {moment(first)} runs before", TURN_S)
            return None
    if later := [_due(run) for run in others if _due(run) > _due(own)]:
        return _skip(f"missed: the night of {moment(max(later))} runs in its place")
    if catch_up == "none" and datetime.now(UTC) - _due(own) > MISSED:
        return _skip(f"missed: it was due at {moment(_due(own))}")
    return None


def run_id_of(tags: Iterable[str] | None) -> str | None:
    """Id of the run that a flow run with these tags has begun."""
    return next((tag.partition(":")[2] for tag in tags or () if tag.startswith("run:")), None)


def _skip(message: str) -> State[Any]:
    get_run_logger().warning("%s", message)
    return Completed(name=SKIPPED, message=message)


async def _due_nights(client: PrefectClient, own: FlowRun) -> list[FlowRun]:
    """Other nights of the schedule of `own` that are due, and were not cancelled."""
    due = FlowRunFilter(
        deployment_id=FlowRunFilterDeploymentId(any_=[UUID(str(own.deployment_id))]),
        expected_start_time=FlowRunFilterExpectedStartTime(before_=datetime.now(UTC)),
    )
    found = await client.read_flow_runs(flow_run_filter=due, sort=FlowRunSort.EXPECTED_START_TIME_DESC)
    return [
        run
        for run in found
        if run.auto_scheduled and run.id != own.id and run.state and run.state.type not in CANCELLED
    ]


def _due(run: FlowRun) -> datetime:
    return run.expected_start_time or datetime.max.replace(tzinfo=UTC)
