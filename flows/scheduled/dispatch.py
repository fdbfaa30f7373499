"""Dispatches shards through a work pool, waits for them and redispatches lost ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import httpx
from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import FlowRun, State, StateType, WorkPool, WorkPoolStatus
from prefect.client.schemas.sorting import FlowRunSort
from prefect.deployments.flow_runs import arun_deployment
from prefect.exceptions import ObjectNotFound
from prefect.runtime import flow_run
from prefect.states import Cancelled, Cancelling, Completed, Crashed, Failed

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.runs.context import TaskGraph, run_tags
from biasgrid.flows.runs.lease_pools import lease_order
from biasgrid.flows.runs.session import TERMINATED
from biasgrid.flows.scheduled.blocks import Handed
from biasgrid.flows.scheduled.gaps import ASKED, AWAY, STOPPED
from biasgrid.flows.scheduled.options import DEPLOYMENT as DEPLOYMENT
from biasgrid.flows.scheduled.shards import Shard
from biasgrid.flows.scheduled.turns import CANCELLED, is_cancelled
from biasgrid.tasks.connectors.client.retry import format_seconds
from biasgrid.tasks.connectors.concurrency import run_concurrently
from biasgrid.tasks.connectors.task import NAME, Label, fit_tags

LOOK_S = 60.0
"""Interval in seconds of worker checks; Prefect marks a worker offline after 90 seconds."""
WHY = {
    WorkPoolStatus.NOT_READY: "no worker takes shards from the work pool `%s`: `prefect worker start --pool %s`",
    WorkPoolStatus.PAUSED: "the work pool `%s` is paused: `prefect work-pool resume %s`",
}


@asynccontextmanager
async def watch_for_workers(deployment: str, look_s: float = LOOK_S) -> AsyncIterator[None]:
    """Logs when a deployment has no worker, immediately and on every change."""
    checks = asyncio.create_task(_check_pool(deployment, look_s))
    try:
        yield
    finally:
        checks.cancel()
        await asyncio.gather(checks, return_exceptions=True)


async def _check_pool(deployment: str, look_s: float) -> None:
    before: WorkPoolStatus | None = None
    async with get_client() as client:
        while True:
            pool = await _pool(client, deployment)
            if pool is not None and pool.status != before:
                if why := WHY.get(pool.status) if pool.status else None:
                    get_run_logger().warning(why, pool.name, pool.name)
                before = pool.status
            await asyncio.sleep(look_s)


async def _pool(client: PrefectClient, deployment: str) -> WorkPool | None:
    """Work pool of a deployment, or None if it cannot be read or there is none."""
    try:
        name = (await client.read_deployment_by_name(deployment)).work_pool_name
        return await client.read_work_pool(name) if name else None
    except (httpx.HTTPError, ObjectNotFound):
        return None


ROUND_S = 1.0
"""Polling interval per shard in seconds; many that are handed out share a few requests per second."""
AT_ONCE = 5
PAUSES_S = (0.0, 10.0, 60.0)
"""Delays in seconds before a lost shard is dispatched again, because failures may be temporary."""
AWAY_PAUSES_S = (60.0, 120.0, 240.0, 480.0, 900.0)
"""Delays in seconds before a shard is dispatched again whose provider is away; the last one is repeated."""
UNBEGUN: Final = "Unbegun"
"""State of a shard's flow run that a worker has taken and no process has begun: its machine was lost before."""
HOPELESS: Final = (AWAY, STOPPED)
"""States of a shard at whose end the rest of its models is not asked either."""
MOMENT: Final = timedelta(milliseconds=1)
ALIVE = [StateType.SCHEDULED, StateType.PENDING, StateType.RUNNING, StateType.PAUSED, StateType.COMPLETED]
"""Of shards that a night continues; a completed one has landed all its replies."""


@dataclass(frozen=True, slots=True)
class Round:
    """Settings that all shards of a nightly run share."""

    run_id: str
    data: str | None
    deployment: str = DEPLOYMENT
    takeovers: int = 2
    """Maximum number of redispatches of a lost shard."""
    deadline: datetime | None = None
    """Until when shards are dispatched again whose provider is away; None: not at all."""
    nth: int = 1
    """Which pass over the shards it is."""
    poll_s: float = ROUND_S
    begin_s: float = 300.0
    """Seconds until a shard that was taken and that no process has begun is dispatched again; twice as many each
    time, as machines may start slowly."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A shard that did not complete."""

    shard: Shard
    why: str
    state: str = ""
    """Name of its last state."""

    @property
    def is_gone(self) -> bool:
        """Whether its process did not get to its end, so that its journals may not have landed."""
        return self.state not in ASKED


async def hand_out(shards: Sequence[Shard], night: Round, graph: TaskGraph | None = None) -> list[Lost]:
    """Dispatches and awaits all shards, and returns those that failed; cancellation cancels them too."""
    graph = graph or TaskGraph()
    lanes = Lanes(shards, night, graph.after("generate"))
    async with watch_for_workers(night.deployment):
        ended: list[State[Any] | Lost] = await run_concurrently(map(lanes.watch, lanes.order))
    for shard, state in zip(lanes.order, ended, strict=True):
        if not isinstance(state, Lost):
            graph.add("shard", shard.part, state)
    found = [one if isinstance(one, Lost) else await one.aresult(raise_on_failure=False) for one in ended]
    if wrong := next((one for one in found if isinstance(one, BaseException)), None):
        raise wrong
    return [one for one in found if isinstance(one, Lost)]


class Lanes:
    """Dispatches as many shards of a limit as it feeds, first where most time is left until all is asked."""

    def __init__(self, shards: Sequence[Shard], night: Round, after: Sequence[Any] = ()) -> None:
        self._night, self._after = night, after
        self._left_s = _time_left(shards)
        self.order = sorted(shards, key=lambda shard: -self._left_s[shard.part])
        self._gates = {shard.scope: asyncio.Semaphore(shard.fed or len(shards)) for shard in shards}
        self._dispatching = asyncio.Lock()  # in their order
        self._waiting: dict[str, datetime] = {}
        """When those in the pool that no worker has taken are due."""
        self._active = 0
        self._over: dict[tuple[str, ...], Lost] = {}
        """Models that are not asked any more, with the shard that has shown it."""

    async def watch(self, shard: Shard) -> State[Any] | Lost:
        async with self._gates[shard.scope]:
            if before := self._over.get(shard.models):
                return replace(before, shard=shard)
            label = Label(f"shard · {shard.title}", (*run_tags(self._night.run_id, shard.part), *shard.models))
            self._active += 1
            state: State[Any] = await watch_shard(  # type: ignore[misc]
                shard, self._night, self, label, wait_for=self._after, return_state=True
            )
            self._active -= 1
        if state.name in HOPELESS:
            found = await state.aresult(raise_on_failure=False)
            self._over |= {shard.models: found} if isinstance(found, Lost) else {}
        return state

    async def dispatch(self, shard: Shard, attempt: int) -> FlowRun:
        """A new flow run, due before those that wait although less is left of theirs."""
        async with self._dispatching:
            left_s = self._left_s[shard.part]
            later = [due for part, due in self._waiting.items() if self._left_s[part] < left_s]
            due = min([datetime.now(UTC), *(one - MOMENT for one in later)])
            self._waiting[shard.part] = due
            return await _dispatch(shard, self._night, attempt, due)

    @property
    def poll_s(self) -> float:
        return max(self._night.poll_s, self._active / AT_ONCE)

    def note(self, shard: Shard, state: State[Any] | None) -> None:
        """Takes note of the state of its flow run."""
        if state and not (state.is_scheduled() or state.is_pending()):
            self._waiting.pop(shard.part, None)


def _time_left(shards: Sequence[Shard]) -> dict[str, float]:
    """Expected seconds from the beginning of each shard until everything of its limit is asked."""
    left: dict[str, float] = {}
    for scope in {shard.scope for shard in shards}:
        rest_s = 0.0
        for shard in sorted((one for one in shards if one.scope == scope), key=lambda one: one.seconds):
            rest_s += shard.seconds / (shard.fed or 1 if scope else len(shards))
            left[shard.part] = max(rest_s, shard.seconds)
    return left


async def refuse_unknown(deployment: str) -> None:
    """Raises UserError if no shard deployment has that name."""
    async with get_client() as client:
        try:
            await client.read_deployment_by_name(deployment)
        except (ObjectNotFound, ValueError):  # no `flow/name` either
            remedy = "deploy it: `prefect --no-prompt deploy --all --prefect-file deployments/prefect.yaml`"
            raise UserError(Problem(f"there is no deployment `{deployment}`", "deployment", remedy)) from None


@task(name="shard", task_run_name=NAME, cache_policy=NO_CACHE, persist_result=False)
async def watch_shard(shard: Shard, night: Round, lanes: Lanes, label: Label) -> State[Any]:
    """Runs one shard until it succeeds, has no attempts left or is past the deadline; a Lost is the data of its
    failed state."""
    label.attach()
    lost = away = unbegun = 0
    while True:
        async with _flow_run(shard, night, lanes, lost + away + unbegun) as (client, run):
            state = await _final_state(client, run.id, shard, lanes, night.begin_s * 2**unbegun)
        if state.is_completed():
            return Completed(message=state.message)
        if state.name == AWAY:
            pause_s, away = _pause_before_next(night, away), away + 1
        elif state.name == UNBEGUN:
            pause_s, unbegun = 0.0, unbegun + 1
        else:
            is_over = state.is_cancelled() or state.name in ASKED or lost >= night.takeovers
            pause_s, lost = None if is_over else PAUSES_S[min(lost, len(PAUSES_S) - 1)], lost + 1
        if pause_s is None:
            get_run_logger().error("shard %s did not end well: %s", shard.title, describe_state(state))
            lost_one = Lost(shard, describe_state(state), state.name or "")
            return Failed(name=state.name, message=state.message, data=lost_one)
        message = "shard %s is handed out again in %s: %s"
        get_run_logger().warning(message, shard.title, format_seconds(pause_s), describe_state(state))
        await asyncio.sleep(pause_s)


def _pause_before_next(night: Round, dispatched: int) -> float | None:
    """Seconds until a provider that is away is asked again, the last time at the deadline; None after it."""
    left_s = (night.deadline - datetime.now(UTC)).total_seconds() if night.deadline else 0.0
    return min(AWAY_PAUSES_S[min(dispatched, len(AWAY_PAUSES_S) - 1)], left_s) if left_s > 0 else None


@asynccontextmanager
async def _flow_run(
    shard: Shard, night: Round, lanes: Lanes, attempt: int
) -> AsyncIterator[tuple[PrefectClient, FlowRun]]:
    """New or existing flow run of the shard, cancelled if the caller stops waiting."""
    async with get_client() as client:
        run = await _find_active(client, shard, night) or await lanes.dispatch(shard, attempt)
        try:
            yield client, run
        except asyncio.CancelledError:
            if TERMINATED.is_set() and not await is_cancelled(client):
                raise  # the process that continues the night waits for its shards
            await client.set_flow_run_state(run.id, Cancelling(message="the night was cancelled"))
            raise


async def read_handed_out(run_id: str) -> list[Handed]:
    """The shards that were handed out for a run, the newest first."""
    named = FlowFilter(name=FlowFilterName(any_=["shard"]))
    own = FlowRunFilter(tags=FlowRunFilterTags(all_=run_tags(run_id)))
    runs: list[FlowRun] = []
    async with get_client() as client:
        while page := await client.read_flow_runs(
            flow_filter=named, flow_run_filter=own, sort=FlowRunSort.START_TIME_DESC, offset=len(runs)
        ):
            runs += page
    pairs = ((tuple(run.parameters["models"]), tuple(run.parameters.get("cells") or ())) for run in runs)
    return [*dict.fromkeys(pairs)]


async def read_limits(targets: Iterable[Target]) -> dict[str, int]:
    """The concurrency limits that there are on the server for models, by scope."""
    found: dict[str, int] = {}
    async with get_client() as client:
        for pool in lease_order(targets):
            with suppress(ObjectNotFound, httpx.HTTPError):
                limit = await client.read_global_concurrency_limit_by_name(pool.name)
                found |= {pool.scope: limit.limit} if limit.active else {}
    return found


async def _find_active(client: PrefectClient, shard: Shard, night: Round) -> FlowRun | None:
    found = await client.read_flow_runs(
        flow_run_filter=FlowRunFilter(
            tags=FlowRunFilterTags(all_=run_tags(night.run_id, shard.part)),
            state=FlowRunFilterState(type=FlowRunFilterStateType(any_=ALIVE)),
        )
    )
    caps = {"max_cost": shard.max_cost, "max_requests": shard.max_requests}
    return next((run for run in found if all(run.parameters.get(name) == cap for name, cap in caps.items())), None)


async def _dispatch(shard: Shard, night: Round, attempt: int, due: datetime) -> FlowRun:
    own = {"cells": list(shard.cells)} if shard.cells else {}
    return await arun_deployment(
        night.deployment,
        parameters={
            "run_id": night.run_id,
            "models": list(shard.models),
            "data": night.data,
            "max_cost": shard.max_cost,
            "max_requests": shard.max_requests,
            **own,
        },
        scheduled_time=due,
        flow_run_name=f"shard · {shard.title}",
        tags=fit_tags([*run_tags(night.run_id, shard.part), *shard.models]),
        idempotency_key=f"{night.run_id}-{shard.part}-{flow_run.id}-{flow_run.run_count}-{night.nth}-{attempt}"
        f"-{shard.max_requests}-{shard.max_cost}",
        timeout=0,
    )


async def _final_state(
    client: PrefectClient, flow_run_id: UUID, shard: Shard, lanes: Lanes, begin_s: float
) -> State[Any]:
    """Final state of a flow run, tolerating temporary server outages; Unbegun after `begin_s` seconds without a
    process."""
    taken_at: float | None = None
    while True:
        try:
            found = await client.read_flow_run(flow_run_id)
            lanes.note(shard, found.state)
            if found.state and found.state.is_final():
                return await _intended_state(client, found)
            is_taken = bool(found.state and found.state.is_pending())
            taken_at = (taken_at or time.monotonic()) if is_taken else None
            if taken_at and time.monotonic() - taken_at > begin_s:
                why = f"no process has begun it within {format_seconds(begin_s)}"
                await client.set_flow_run_state(flow_run_id, Crashed(name=UNBEGUN, message=why))
        except httpx.HTTPError as error:
            get_run_logger().warning("Prefect's server does not answer: %s", type(error).__name__)
        except ObjectNotFound:
            return Cancelled(message="the flow run was deleted")
        await asyncio.sleep(lanes.poll_s)


async def _intended_state(client: PrefectClient, ended: FlowRun) -> State[Any]:
    """Cancelled if cancellation was requested, however the process ended."""
    assert ended.state is not None  # noqa: S101 - it has ended
    if not ended.state.is_crashed():
        return ended.state
    before = await client.read_flow_run_states(ended.id)
    return Cancelled() if CANCELLED & {state.type for state in before} else ended.state


def describe_state(state: State[Any]) -> str:
    return f"{state.name}: {state.message}" if state.message else state.name or "ended"
