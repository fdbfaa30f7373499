"""A fixed number of workers over one iterator of requests: no task per prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Answer, Request
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import RetryBudget

T = TypeVar("T")
Land = Callable[[T, Answer], None]
SLACK = 4
"""Requests under way for each that may be in flight: while some wait for their next attempt, no slot is idle."""


def hands(target: Target) -> asyncio.Semaphore:
    """How many requests to a model may be under way, waiting or in flight; shared by all that ask it together."""
    return asyncio.Semaphore(SLACK * target.limits.concurrency)


async def answer_all(
    model_pool: ModelPool,
    target: Target,
    requests: Iterable[T],
    to_request: Callable[[T], Request],
    land: Land[T],
    *,
    retries: int,
    workers: int | None = None,
    hands: asyncio.Semaphore | None = None,
    share: Land[T] | None = None,
    budget: RetryBudget | None = None,
    all_taken: Callable[[], None] = lambda: None,
    patience_s: float = 10.0,
) -> None:
    """Sends each of `requests` and calls `land` with its answer the moment it arrives.

    `budget` bounds what is sent again; `workers` is the target's concurrency by default, each takes a request with
    one of `hands` free. `all_taken` is called when no request is left to take. An answer that another request
    lands goes to `share`. On cancellation or an error of a callback nothing new is taken; what is in flight has
    `patience_s` seconds to arrive and land."""
    count = workers or target.limits.concurrency
    crew = _Workers(
        model_pool,
        target,
        iter(requests),
        to_request,
        land,
        share,
        retries,
        hands or asyncio.Semaphore(count),
        budget,
        all_taken,
    )
    await crew.work(count, patience_s)


@dataclass(slots=True)
class _Workers(Generic[T]):
    model_pool: ModelPool
    target: Target
    waiting: Iterator[T]
    to_request: Callable[[T], Request]
    land: Land[T]
    share: Land[T] | None
    retries: int
    hands: asyncio.Semaphore
    budget: RetryBudget | None
    all_taken: Callable[[], None]
    taking: bool = True
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def work(self, workers: int, patience_s: float) -> None:
        self.tasks = [asyncio.create_task(self._worker()) for _ in range(workers)]
        try:
            done, _ = await asyncio.wait(self.tasks, return_when=asyncio.FIRST_EXCEPTION)
            if any(task.cancelled() or task.exception() for task in done):
                await self._wind_up(patience_s)
        except asyncio.CancelledError:
            await self._wind_up(patience_s)
            raise
        finally:
            await self._dismiss()

    async def _worker(self) -> None:
        while self.taking:
            async with self.hands:
                try:
                    item = next(self.waiting)
                except StopIteration:
                    self.all_taken()
                    return
                answer = await self.model_pool.answer(
                    self.target, self.to_request(item), self.retries, self.budget
                )
            landing = self.share if answer.shared else self.land
            if landing is not None:
                landing(item, answer)

    async def _wind_up(self, patience_s: float) -> None:
        """Let what has been sent arrive; what only waits for its turn is given up."""
        self.taking = False
        for task in self.tasks:
            if task not in self.model_pool.in_flight:
                task.cancel()
        await asyncio.wait(self.tasks, timeout=patience_s)

    async def _dismiss(self) -> None:
        """End what is still at work, then raise the first error that any of them met."""
        done = [task for task in self.tasks if task.done()]
        for task in self.tasks:
            task.cancel()
        outcomes = await asyncio.gather(*self.tasks, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException) and not isinstance(outcome, asyncio.CancelledError):
                raise outcome
        for task in done if self.taking else ():
            task.result()  # cancelled by somebody else: what it had taken was not landed
