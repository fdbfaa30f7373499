"""Names, tags and retry options of all Prefect tasks, and the one that plans a run."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import polars as pl
from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.context import TaskRunContext

from biasgrid.warehouse.storage.errors import StorageTrouble

NAME = "{label.name}"
"""Run name of a task, from its parameter `label`; `with_options` would build the task anew each time."""


MOST_TAGS = 64
"""Prefect's server takes no change of state of a run with a hundred related resources, and each tag is one: a
flow run with more tags would never end."""


def fit_tags(tags: Iterable[str]) -> list[str]:
    """Each once, and as many of the first ones as a run can have."""
    return list(dict.fromkeys(tags))[:MOST_TAGS]


@dataclass(frozen=True, slots=True)
class Label:
    """Name and tags of a task run in the Prefect UI."""

    name: str
    tags: tuple[str, ...] = ()

    def attach(self) -> None:
        """Tags the current task run together with its last state."""
        # Tags set before a task runs are concurrency limits too: for each new set Prefect starts a
        # thread and a client, which costs more than most cells take.
        context = TaskRunContext.get()
        if context is not None:
            context.task_run.tags = fit_tags(self.tags)


def artifact_key(kind: str, about: str) -> str:
    """A Prefect key such as `progress-openai-gpt-4o`, about a model or a scenario; a non-ASCII name ends with the
    start of its hash."""
    plain = re.sub(r"[^a-z0-9]+", "-", about.lower()).strip("-")
    mark = "" if about.isascii() else f"-{sha256(about.encode()).hexdigest()[:6]}"
    return f"{kind}-{plain}{mark}" if plain else f"{kind}{mark}"


STOPPED = "Stopped"
"""State of a cell whose model stopped on a terminal error; its run continues."""


def is_retryable(_task: object, _run: object, state: State[Any]) -> bool:
    """Whether a failed task may succeed when run again: not for a stopped model or a full disk."""
    return state.name != STOPPED and not isinstance(state.data, StorageTrouble)


UNCACHED_TASK: Final[dict[str, Any]] = {"task_run_name": NAME, "cache_policy": NO_CACHE, "persist_result": False}
"""Options of a task whose results are in the lake, so that Prefect stores none."""

RETRIED_TASK: Final[dict[str, Any]] = {
    **UNCACHED_TASK,
    "retries": 2,
    "retry_delay_seconds": [1, 10],
    "retry_condition_fn": is_retryable,
}
"""The same options, with retries for failures that may pass."""


@task(name="plan", **UNCACHED_TASK)
async def plan(land: Callable[[], pl.DataFrame], label: Label) -> pl.DataFrame:
    """Lands the cases of a run by `land`; returns the cells. Never cached, as they are the run's own record."""
    label.attach()
    return await asyncio.to_thread(land)


SILENT_STATES = ("Completed", "Cached", STOPPED)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a log record is more than the end of a task, which its state shows."""
    return not str(record.msg).startswith(tuple(f"Finished in state {name}" for name in SILENT_STATES))


logging.getLogger("prefect.task_runs").addFilter(_is_news)
