"""Submission of jobs to providers, each created exactly once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from biasgrid.tasks.connectors.api import Terminal
from biasgrid.tasks.connectors.client.retry import Unreachable

T = TypeVar("T")


class NotTaken(Exception):
    """The provider refused a job and created none; `why` is its error."""

    def __init__(self, why: Terminal) -> None:
        super().__init__(why)
        self.why = why


async def or_not_taken(call: Awaitable[T]) -> T:
    """The result of `call`. Raises NotTaken for an error that would occur again."""
    try:
        return await call
    except Unreachable:
        raise
    except Terminal as refused:
        raise NotTaken(refused) from None


class CreateOnce(Generic[T]):
    """Creates a job on the first call; later calls search for it first."""

    # A request that timed out or lost its connection may have created the job.

    def __init__(
        self, find: Callable[[], Awaitable[T | None]], create: Callable[[], Awaitable[T]], *, tried: bool = False
    ) -> None:
        self._find, self._create, self._tried = find, create, tried

    async def __call__(self) -> T:
        found = await self._find() if self._tried else None
        if found is not None:
            return found
        self._tried = True
        return await or_not_taken(self._create())
