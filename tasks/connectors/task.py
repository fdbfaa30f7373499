"""What the tasks of all verbs share with Prefect."""

from __future__ import annotations

from collections.abc import Iterable

from prefect.context import TaskRunContext


def found_by(tags: Iterable[str]) -> None:
    """Tag the task run that calls this, for the filters of the Prefect UI.

    Tags that a task run begins with are concurrency limits as well: for each new set of them Prefect starts a
    thread and a client to ask the server, which costs more than most cells take. What is set while it runs is
    recorded with its last state, and asks nobody.
    """
    context = TaskRunContext.get()
    if context is not None:
        context.task_run.tags = [*tags]
