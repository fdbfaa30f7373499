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


def request_slots(target: Target) -> asyncio.Semaphore:
    """Semaphore of active requests to a model, waiting or in flight, shared by all callers."""
    return asyncio.Semaphore(SLACK * target.limits.concurrency)


@dataclass(slots=True)
class Workers(Generic[T]):
    """Sends requests to one model and calls `land` with each answer on arrival."""

    # On cancellation or an error of a callback nothing new is taken; requests in flight have `patience_s` seconds
    # to complete and be stored.

    model_pool: ModelPool
    target: Target
    to_request: Callable[[T], Request]
    land: Land[T]
    retries: int
    share: Land[T] | None = None
    """Receives an answer that another request stores."""
    budget: RetryBudget | None = None
    """Bounds the retries."""
    slots: asyncio.Semaphore | None = None
    """A worker takes a request while one of these is free."""
    all_taken: Callable[[], None] = lambda: None
    """Called when no request is left to take."""
    patience_s: float = 10.0
    _waiting: Iterator[T] = field(init=False)
    _is_taking: bool = True
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def answer_all(self, requests: Iterable[T], workers: int | None = None) -> None:
        """Sends each of `requests`, with the target's concurrency by default."""
        count = workers or self.target.limits.concurrency
        self.slots = self.slots or asyncio.Semaphore(count)
        self._waiting = iter(requests)
        self._tasks = [asyncio.create_task(self._work(self.slots)) for _ in range(count)]
        try:
            done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
            if any(task.cancelled() or task.exception() for task in done):
                await self._wind_up()
        except asyncio.CancelledError:
            await self._wind_up()
            raise
        finally:
            await self._dismiss()

    async def _work(self, slots: asyncio.Semaphore) -> None:
        while self._is_taking:
            async with slots:
                try:
                    item = next(self._waiting)
                except StopIteration:
                    self.all_taken()
                    return
                answer = await self.model_pool.answer(
                    self.target, self.to_request(item), self.retries, self.budget
                )
            landing = self.share if answer.shared else self.land
            if landing is not None:
                landing(item, answer)

    async def _wind_up(self) -> None:
        """Waits for requests in flight and cancels those that still wait."""
        self._is_taking = False
        for task in self._tasks:
            if task not in self.model_pool.in_flight:
                task.cancel()
        await asyncio.wait(self._tasks, timeout=self.patience_s)

    async def _dismiss(self) -> None:
        """Cancels remaining workers, then raises the first error of any."""
        done = [task for task in self._tasks if task.done()]
        for task in self._tasks:
            task.cancel()
        outcomes = await asyncio.gather(*self._tasks, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException) and not isinstance(outcome, asyncio.CancelledError):
                raise outcome
        for task in done if self._is_taking else ():
            task.result()  # cancelled from outside: its request was not stored
