"""Workers and jobs that end in order: SIGTERM reaches their runs, which land what is in flight and are handed on.

`python -m biasgrid.deployments.worker --pool biasgrid` takes runs as `prefect worker start` does, which kills them
at its own end. `python -m biasgrid.deployments.worker --job` runs one as `prefect flow-run execute` does, which as
the first process of a container ignores SIGTERM.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import typer
from prefect.logging.configuration import setup_logging
from prefect.workers.process import ProcessWorker

from biasgrid.flows.cli import main
from biasgrid.flows.operations.parent_watch import children

GRACE_S = 90.0
"""Seconds for runs to store replies in flight; those that are left are then killed."""
LOOK_S = 0.2
EXECUTE = (sys.executable, "-P", "-m", "prefect", "flow-run", "execute")


async def work(worker: ProcessWorker, grace_s: float = GRACE_S, *, with_healthcheck: bool = False) -> None:
    """Takes runs until SIGTERM or SIGINT, and waits for the end of those under way; a second signal kills them."""
    loop, stopping, taking = asyncio.get_running_loop(), asyncio.Event(), asyncio.Lock()
    take = worker.get_and_submit_flow_runs

    async def take_unless_stopping() -> Any:
        async with taking:
            return [] if stopping.is_set() else await take()

    def is_busy() -> bool:
        # a run that is taken and has no process yet would stay Pending, and no worker would take it again
        return taking.locked() or bool(worker._submitting_flow_run_ids)

    worker.get_and_submit_flow_runs = take_unless_stopping  # type: ignore[method-assign]
    working = asyncio.create_task(worker.start(with_healthcheck=with_healthcheck))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: working.cancel() if stopping.is_set() else stopping.set())
    stopped = asyncio.create_task(stopping.wait())
    await asyncio.wait([working, stopped], return_when=asyncio.FIRST_COMPLETED)
    if stopping.is_set() and not working.done():
        await _drain(working, is_busy, grace_s)
    stopped.cancel()
    with suppress(asyncio.CancelledError):
        await working


async def _drain(working: asyncio.Task[None], is_busy: Callable[[], bool], grace_s: float) -> None:
    asked = set[int]()
    with suppress(TimeoutError):
        async with asyncio.timeout(grace_s):
            while not working.done() and ((runs := {*children(os.getpid())}) or is_busy()):
                end_runs(runs - asked)
                asked |= runs
                await asyncio.sleep(LOOK_S)
            await asyncio.sleep(LOOK_S)  # the worker notes how they have ended
    working.cancel()


def end_runs(runs: set[int]) -> None:
    """Sends SIGTERM to the processes of runs. Each leads a group, of Prefect's supervisor and the run itself."""
    for pid in runs:
        with suppress(ProcessLookupError):
            end = os.killpg if os.getpgid(pid) == pid else os.kill
            end(pid, signal.SIGTERM)


def execute_job() -> int:
    """Runs the flow run that the environment names; its exit code."""
    with subprocess.Popen(EXECUTE) as job:  # noqa: S603 - our own words
        signal.signal(signal.SIGTERM, lambda *_: end_runs({*children(job.pid)}))
        return job.wait()


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def start_worker(
    pool: Annotated[str, typer.Option("--pool", "-p", help="Work pool of type process.")] = "biasgrid",
    name: Annotated[str | None, typer.Option("--name", "-n", help="Of the worker.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-l", min=1, help="Runs at once.")] = None,
    grace: Annotated[float, typer.Option(help="Seconds for runs to end after SIGTERM.", min=0)] = GRACE_S,
    with_healthcheck: Annotated[bool, typer.Option("--with-healthcheck", help="Answer on /health.")] = False,
    job: Annotated[bool, typer.Option("--job", help="Run one flow run, in a container of its own.")] = False,
) -> None:
    """Take flow runs of a work pool; on SIGTERM let them land what is in flight, and hand them on."""
    if job:
        raise typer.Exit(execute_job())
    setup_logging()
    asyncio.run(work(ProcessWorker(pool, name=name, limit=limit), grace, with_healthcheck=with_healthcheck))


if __name__ == "__main__":
    main(app)
