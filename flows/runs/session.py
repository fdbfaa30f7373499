"""Session of a run: locks its data, recovers crash journals and records its end."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Any, Final, TypeVar

import polars as pl

from biasgrid.catalogs.choices import duration_s
from biasgrid.flows.runs.context import Grid, pause_reporter, tag
from biasgrid.flows.runs.kinds import AnyKind
from biasgrid.flows.runs.prepare import Prepared, is_batched
from biasgrid.flows.telemetry.observer import observe
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import Backoff
from biasgrid.tasks.connectors.client.run_budget import RunBudget
from biasgrid.tasks.prompt.run_costs import outstanding_jobs, read_run_costs
from biasgrid.warehouse.storage.errors import StorageTrouble
from biasgrid.warehouse.storage.journal import recover
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.run_lock import RunBusy, RunLock, lead_run
from biasgrid.warehouse.storage.runs import Run, begin_run, find_run

T = TypeVar("T")
SESSIONS = "sessions"
"""The folder below a lake's root that holds conversations under way. It stays on this machine, also where the lake
is on shared storage: cookies are as good as keys."""
TERMINATED: Final = threading.Event()
"""Set once SIGTERM has come to a run of this process."""
TURN_S = 5.0
"""Interval in seconds of checks whether a part of a run is free."""


class Terminated(asyncio.CancelledError):
    """SIGTERM ended a run: its worker, container or machine goes away, or it was cancelled."""


@asynccontextmanager
async def run_session(
    lake: Lake, prepared: Prepared[Any], run_id: str | None = None, *, asks: bool = True
) -> AsyncIterator[Grid]:
    """The grid of a run, a new one by default. `asks`: whether its models are asked, and its batches collected.
    Raises UserError before the run exists where a model cannot be reached as described, StorageTrouble where
    its data can no longer be written."""
    async with _model_pool(prepared, lake) as model_pool:
        model_pool.prepare(prepared.models)
        run = find_run(lake, run_id, needs="rest to ask") if run_id else _begin_run(lake, prepared)
        with RunLock(lake, run.run_id), _recorded(lake, run), _cancelled_by_sigterm():
            recover(lake, run.run_id)
            model_pool.keep_sessions(lake.root / SESSIONS / run.run_id)
            grid = Grid(lake, run, prepared.resolved, model_pool)
            await asyncio.to_thread(_count_before, grid, asks=asks)
            await tag(run.run_id, prepared.resolved)
            with observe(run.run_id, model_pool.waiting_s):
                yield grid


@asynccontextmanager
async def coordinate_run(
    lake: Lake, prepared: Prepared[Any], run_id: str | None = None, *, is_main: bool = True
) -> AsyncIterator[Grid]:
    """Grid of a run whose models other processes query, without connectors and keys. `is_main`: whether it is the
    run by which the flow run is found."""
    async with _model_pool(prepared, lake) as model_pool:
        run = find_run(lake, run_id, needs="rest to ask") if run_id else _begin_run(lake, prepared)
        with lead_run(lake, run.run_id), _recorded(lake, run), _cancelled_by_sigterm():
            if is_main:
                await tag(run.run_id, prepared.resolved)
            yield Grid(lake, run, prepared.resolved, model_pool)


@asynccontextmanager
async def run_part(
    lake: Lake, prepared: Prepared[Any], run: Run, part: str, cells: pl.DataFrame
) -> AsyncIterator[Grid]:
    """The grid of the part of a run that this process asks: `cells`, of the prepared models. How the run ends is
    recorded by who leads it. Where another process has this part its end is waited for: it went on though it
    counted as lost, or stops and lands what is in flight. Raises as `run_session` does."""
    own = cells["cell_id"].to_list()
    async with _model_pool(prepared, lake) as model_pool:
        model_pool.prepare(prepared.models)
        with _cancelled_by_sigterm(), ExitStack() as held:
            await _wait_for_turn(held, RunLock(lake, run.run_id, part))
            recover(lake, run.run_id, part=part, cells=own)
            model_pool.keep_sessions(lake.root / SESSIONS / run.run_id)
            grid = Grid(lake, run, prepared.resolved, model_pool, part=part)
            await asyncio.to_thread(_count_before, grid, own)
            await tag(run.run_id, prepared.resolved, part)
            with observe(run.run_id, model_pool.waiting_s):
                yield grid


async def share_caps(kind: AnyKind, grid: Grid, ask: Callable[[], Awaitable[T]]) -> T:
    """What `ask` returns, its models' requests within their shares of the run's caps.

    Asks again while models wait for what others have left of theirs."""
    budget = grid.model_pool.run_budget
    if budget is None or not budget.is_capped:
        return await ask()
    while True:
        rest = await asyncio.to_thread(kind.forecast_rest, grid.resolved, grid.lake, grid.run.run_id)
        before = budget.sent, budget.waiting
        budget.share_out(rest.planned)
        found = await ask()
        if not budget.waiting or (budget.sent, budget.waiting) == before:
            return found
        grid.model_pool.begin_round()


async def _wait_for_turn(held: ExitStack, lock: RunLock) -> None:
    report = pause_reporter()
    while True:
        try:
            held.enter_context(lock)
        except RunBusy:
            report("another process still writes this part of the run: waiting until it ends")
            report = _silent
            await asyncio.sleep(TURN_S)
        else:
            return


def _silent(_: str) -> None:
    """Discards repeated messages."""


def _model_pool(prepared: Prepared[Any], lake: Lake) -> ModelPool:
    """Conversations of chatbots are stored next to the lake, so that another process can continue them."""
    settings = prepared.resolved.settings
    run_budget = RunBudget(settings.max_requests, settings.max_cost)
    run_budget.notify = pause_reporter()
    patience_s = duration_s(settings.patience)
    backoff = Backoff(outage_s=patience_s, notify=pause_reporter())
    backoff = replace(backoff, patience_s=max(patience_s, backoff.patience_s))
    shares = settings.reuse != "none"
    model_pool = ModelPool(
        prepared.resolved.catalog, prepared.secrets, backoff=backoff, run_budget=run_budget, shares=shares
    )
    model_pool.max_reply_mb = prepared.resolved.settings.max_reply_mb
    model_pool.keep_sessions(lake.root / "conversations")
    return model_pool


def _count_before(grid: Grid, cells: Sequence[str] | None = None, *, asks: bool = True) -> None:
    """Counts requests and cost so far, including the possible cost of open batches, before sending."""
    lake, run_id, resolved, run_budget = grid.lake, grid.run.run_id, grid.resolved, grid.model_pool.run_budget
    assert run_budget is not None  # noqa: S101 - every run's board has one
    settings = resolved.settings
    targets = {target.model: target for target in resolved.asked}
    before = read_run_costs(lake, run_id, targets, cells)
    run_budget.sent, run_budget.cost, run_budget.longest = before.requests, before.cost_usd, before.longest
    for job in outstanding_jobs(lake, run_id, resolved.targets, shares=settings.reuse != "none"):
        awaited = asks and is_batched(targets[job.model], settings)
        run_budget.reserve_job(job.job_id, job.requests, job.most_usd, job.model, awaited=awaited)


@contextmanager
def _recorded(lake: Lake, run: Run) -> Iterator[None]:
    """Records how a run broke off. Where even that cannot be written it stays as last recorded: to be resumed. One
    that was complete, and is judged again, stays so, and so does one that another process writes."""
    try:
        yield
    except BaseException as error:  # cancelled, too, or a signal wherever it struck
        if isinstance(error, RunBusy):
            raise
        with suppress(StorageTrouble):
            if lake.newest("runs", run.run_id)["state"].to_list() != ["completed"]:
                run.record(lake, "failed" if isinstance(error, Exception) else "interrupted")
        raise


@contextmanager
def _cancelled_by_sigterm() -> Iterator[None]:
    """A worker's, a container's and Prefect's way to cancel a run: the answers in flight arrive and land first.
    Prefect's own handler raises in the midst of the event loop, which gives them up."""
    task = asyncio.current_task()
    if task is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    loop = asyncio.get_running_loop()
    TERMINATED.clear()

    def stop() -> None:
        TERMINATED.set()
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, stop)
    receive_sigterm()
    try:
        yield
    except asyncio.CancelledError as cancelled:
        if not TERMINATED.is_set():
            raise
        task.uncancel()  # what follows reports how the run ended
        raise Terminated from cancelled
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        signal.signal(signal.SIGTERM, before)


def receive_sigterm() -> None:
    """Lets SIGTERM come, for which the process of a deployment's run waits from its start."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def _begin_run(lake: Lake, prepared: Prepared[Any]) -> Run:
    resolved = prepared.resolved
    seed = resolved.settings.seed
    return begin_run(lake, resolved.given, resolved.as_json(), resolved.catalog.hashes, seed, resolved.kind)
