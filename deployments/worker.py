"""Workers and jobs that end in order: SIGTERM reaches their runs, which land what is in flight and are handed on.

`python -m biasgrid.deployments.worker --pool biasgrid` takes runs as `prefect worker start` does, which kills them
at its own end. `python -m biasgrid.deployments.worker --job` runs one as `prefect flow-run execute` does, which as
the first process of a container ignores SIGTERM.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from prefect.logging.configuration import setup_logging
from prefect.settings import PREFECT_WORKER_QUERY_SECONDS, temporary_settings
from prefect.workers.process import ProcessWorker

from biasgrid.flows.cli import main
from biasgrid.flows.operations.parent_watch import children

GRACE_S = 90.0
"""Seconds for runs to store replies in flight; those that are left are then killed."""
LOOK_S = 0.2
QUERY_S = 2.0
"""Interval of a worker's requests for work, which it has none of between two shards. Prefect's default is 10."""
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
                asked |= end_runs(runs - asked)
                await asyncio.sleep(LOOK_S)
            await asyncio.sleep(LOOK_S)  # the worker notes how they have ended
    working.cancel()


def end_runs(runs: set[int]) -> set[int]:
    """Sends SIGTERM to the processes of runs that would not die of it, as one that just starts does; returns their
    ids. Each leads a group, of Prefect's supervisor and the run itself."""
    ready = set(filter(_is_ready, runs))
    for pid in ready:
        with suppress(ProcessLookupError):
            end = os.killpg if os.getpgid(pid) == pid else os.kill
            end(pid, signal.SIGTERM)
    return ready


def _is_ready(pid: int) -> bool:
    """Whether a process blocks or catches SIGTERM, as far as the system shows it."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return True
    masks = re.findall(r"^Sig(?:Blk|Cgt):\s*(\w+)", status, re.MULTILINE)
    return any(int(mask, 16) >> (signal.SIGTERM - 1) & 1 for mask in masks)


def execute_job() -> int:
    """Runs the flow run that the environment names; its exit code."""
    asked, ended = threading.Event(), set[int]()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    with subprocess.Popen(EXECUTE) as job:  # noqa: S603 - our own words
        while job.poll() is None:
            if asked.is_set():
                ended |= end_runs({*children(job.pid)} - ended)
            time.sleep(LOOK_S)
        return job.returncode


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
    with temporary_settings(set_defaults={PREFECT_WORKER_QUERY_SECONDS: QUERY_S}):
        asyncio.run(work(ProcessWorker(pool, name=name, limit=limit), grace, with_healthcheck=with_healthcheck))


if __name__ == "__main__":
    main(app)
