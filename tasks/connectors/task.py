"""What the tasks of all verbs share with Prefect."""

from __future__ import annotations

from dataclasses import dataclass

from prefect.context import TaskRunContext

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
