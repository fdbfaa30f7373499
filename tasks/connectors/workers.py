"""A fixed number of workers on one iterator of requests, without a task per prompt."""

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
"""Active requests per slot, so that no slot is idle while some wait for their next attempt."""


def hands(target: Target) -> asyncio.Semaphore:
    """Semaphore of active requests to a model, waiting or in flight, shared by all callers."""
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
    """Sends each of `requests` and calls `land` with its answer on arrival."""
    # `budget` bounds retries; `workers` is the target's concurrency by default, and each takes a request while one
    # of `hands` is free. `all_taken` is called when no request is left to take. An answer stored by another
    # request goes to `share`. On cancellation or an error of a callback nothing new is taken; requests in flight
    # have `patience_s` seconds to complete and be stored.
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
        """Waits for requests in flight and cancels those that still wait."""
        self.taking = False
        for task in self.tasks:
            if task not in self.model_pool.in_flight:
                task.cancel()
        await asyncio.wait(self.tasks, timeout=patience_s)

    async def _dismiss(self) -> None:
        """Cancels remaining workers, then raises the first error of any."""
        done = [task for task in self.tasks if task.done()]
        for task in self.tasks:
            task.cancel()
        outcomes = await asyncio.gather(*self.tasks, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException) and not isinstance(outcome, asyncio.CancelledError):
                raise outcome
        for task in done if self.taking else ():
            task.result()  # cancelled from outside: its request was not stored
