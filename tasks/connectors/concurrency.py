"""Runs work concurrently; the first failure cancels the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def run_concurrently(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Results in order; raises the first failure after the others have ended."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except BaseExceptionGroup as several:
        raise first_cause(several) from None
    return [task.result() for task in tasks]


def first_cause(several: BaseExceptionGroup) -> BaseException:
    """The exception that caused the failure of the group, signals first."""
    leaves: list[BaseException] = [several]
    while any(isinstance(leaf, BaseExceptionGroup) for leaf in leaves):
        leaves = [
            inner
            for leaf in leaves
            for inner in (leaf.exceptions if isinstance(leaf, BaseExceptionGroup) else [leaf])
        ]
    return next((leaf for leaf in leaves if not isinstance(leaf, Exception)), leaves[0])
