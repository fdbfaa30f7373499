"""What the tasks of all verbs share with Prefect."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.context import TaskRunContext

from biasgrid.warehouse.storage.errors import StorageTrouble

NAME = "{label.name}"
"""A task's run name: that of its parameter `label`. A task that is given its name by `with_options` is built anew
each time, which takes as long as a small cell."""


@dataclass(frozen=True, slots=True)
class Label:
    """How people read a task run in the Prefect UI, and by which tags they find it."""

    name: str
    tags: tuple[str, ...] = ()

    def attach(self) -> None:
        """Tag the task run that calls this.

        Tags that a task run begins with are concurrency limits as well: for each new set of them Prefect starts a
        thread and a client to ask the server, which costs more than most cells take. What is set while it runs is
        recorded with its last state, and asks nobody.
        """
        context = TaskRunContext.get()
        if context is not None:
            context.task_run.tags = [*self.tags]


def artifact_key(kind: str, model: str) -> str:
    """`progress-openai-gpt-4o`: Prefect's keys hold lower-case letters, digits and dashes. A name that they cannot
    tell bears the beginning of its hash."""
    told = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")
    mark = "" if model.isascii() else f"-{sha256(model.encode()).hexdigest()[:6]}"
    return f"{kind}-{told}{mark}" if told else f"{kind}{mark}"


STOPPED = "Stopped"
"""The state's name of a cell whose model ended on a terminal error; its run goes on without it."""


def is_retryable(_task: object, _run: object, state: State[Any]) -> bool:
    """Neither what stopped a model, nor a full disk, which is full a second later: what was in flight has landed
    as far as it could."""
    return state.name != STOPPED and not isinstance(state.data, StorageTrouble)


UNCACHED_TASK: Final[dict[str, Any]] = {"task_run_name": NAME, "cache_policy": NO_CACHE, "persist_result": False}
"""Options of a task that lands what it does in the lake: Prefect keeps nothing of it beside."""

RETRIED_TASK: Final[dict[str, Any]] = {
    **UNCACHED_TASK,
    "retries": 2,
    "retry_delay_seconds": [1, 10],
    "retry_condition_fn": is_retryable,
}
"""And that is run again where what went wrong may pass."""

SILENT_STATES = ("Completed", "Cached", STOPPED)


def _is_news(record: logging.LogRecord) -> bool:
    """Of a task's end its state tells, and of a model that stopped its flow, once: among hundreds of such lines no
    other would be seen."""
    return not str(record.msg).startswith(tuple(f"Finished in state {name}" for name in SILENT_STATES))


logging.getLogger("prefect.task_runs").addFilter(_is_news)
