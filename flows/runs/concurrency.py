"""Side by side: the first that fails ends the others, so that none outlives the run."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def together(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results, in order. Raises what went wrong first, when the others have ended."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except BaseExceptionGroup as several:
        raise what_broke(several) from None
    return [task.result() for task in tasks]


def what_broke(several: BaseExceptionGroup) -> BaseException:
    """What ended them all; the others were stopped for it. A signal, wherever it struck, before all else."""
    leaves: list[BaseException] = [several]
    while any(isinstance(leaf, BaseExceptionGroup) for leaf in leaves):
        leaves = [
            inner
            for leaf in leaves
            for inner in (leaf.exceptions if isinstance(leaf, BaseExceptionGroup) else [leaf])
        ]
    return next((leaf for leaf in leaves if not isinstance(leaf, Exception)), leaves[0])
