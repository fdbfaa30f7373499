"""A run under way from the terminal: its server, its progress, how it ends and is interrupted."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import typer

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.operations.interruption import interruption, run_stoppable

if TYPE_CHECKING:
    from biasgrid.catalogs.schema.requirements import ScenarioSettings
    from biasgrid.flows.forecast.totals import Forecast
    from biasgrid.flows.runs.prepare import Prepared
    from biasgrid.flows.terminal.progress import RunProgress

INTERRUPTED = 130


@contextmanager
def early_server() -> Iterator[None]:
    """Prefect's server starts while scenario and catalogs are read; a mistake found there ends it."""
    from biasgrid.flows.operations.prefect_server import start_early

    interruption.advice = lambda: "nothing was sent"
    _check_log()
    with _quiet(), start_early():
        yield


def _check_log() -> None:
    """Raises UserError where a log is asked for that cannot be written, before a server starts in vain. The sink
    itself opens it again later: Prefect takes away the handlers that its loggers have before it is imported."""
    where = os.environ.get("BIASGRID_LOG_JSON")
    if where and where != "-":
        from biasgrid.flows.telemetry.log_lines import open_log

        open_log(where).close()


@contextmanager
def _quiet() -> Iterator[None]:
    """Before Prefect is imported: the terminal shows our progress, logs go to a server where there is one."""
    wanted = {"PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL"}
    if not os.environ.get("PREFECT_API_URL"):
        wanted |= {"PREFECT_LOGGING_TO_API_ENABLED": "false", "PREFECT_LOGGING_LEVEL": "CRITICAL"}
    added = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def remove_new_directories(data: str | None) -> Iterator[None]:
    """Takes away the empty directories that were made for a run which is then not begun."""
    from biasgrid.flows.operations.environment import data_place
    from biasgrid.warehouse.storage.lake import Lake

    root = Lake.at(data_place(data)).root
    missing = [folder for folder in (root, *root.parents) if not folder.exists()]
    try:
        yield
    finally:
        with suppress(OSError):  # what holds something stays
            for folder in missing:
                folder.rmdir()


def confirm_or_exit(expected: Forecast, settings: ScenarioSettings, *, yes: bool, at_most: bool = False) -> None:
    """Asks before much is spent; ends the command where the answer is no."""
    from biasgrid.flows.forecast.confirmation import Declined, confirm

    try:
        confirm(expected, settings, yes=yes, at_most=at_most)
    except Declined:
        typer.echo("biasgrid: not started; nothing was sent", err=True)
        raise typer.Exit(INTERRUPTED) from None


def run_with_progress(prepared: Prepared[Any], flow: str, **parameters: Any) -> Any:
    """What a flow returns that is run with progress on the terminal."""
    from biasgrid.flows.terminal.progress import RunProgress

    with RunProgress() as progress:
        interruption.advice = partial(_how_to_go_on, progress, parameters["data"])
        try:
            found = _flow(flow, prepared, progress, parameters)
        except (KeyboardInterrupt, UserError):
            raise
        except Exception:
            typer.echo(f"biasgrid: the run broke off; {progress.how_to_go_on}", err=True)
            raise
    interruption.advice = lambda: f"the run had ended: `biasgrid show {found.run_id}` shows what it found"
    return found


def _how_to_go_on(progress: RunProgress, data: str) -> str:
    """For a person who stops a run."""
    from biasgrid.flows.runs.cells import how_batches_go_on
    from biasgrid.warehouse.storage.lake import Lake

    progress.stop()
    batches = how_batches_go_on(Lake.at(data), progress.run_id) if progress.run_id else None
    return "; ".join(filter(None, (progress.how_to_go_on, batches)))


def _flow(flow: str, prepared: Prepared[Any], progress: Any, parameters: dict[str, Any]) -> Any:
    from biasgrid.flows.runs.context import progress_listener
    from biasgrid.flows.runs.prepare import prepared_run

    progress_listener.set(progress)
    token = prepared_run.set(prepared)
    begin = resolve_name(flow)
    _import_early(prepared)
    gc.freeze()  # what has been imported stays: the collector need not inspect it again
    try:
        return run_interruptible(partial(begin, **parameters))
    finally:
        prepared_run.reset(token)


def run_interruptible(begin: Callable[[], Any]) -> Any:
    """What a flow returns. Raises KeyboardInterrupt where Prefect cancels it."""
    from biasgrid.flows.operations.reachability import require_prefect

    with require_prefect():
        return run_stoppable(begin)


def _import_early(prepared: Prepared[Any]) -> None:
    """SDKs and the warehouse take half a second each to load, and Prefect's server as long to answer: all at once.
    Problems of an SDK are reported where it is used; where replies of other runs may be all, none may be used."""
    from biasgrid.tasks.connectors.registry import factory
    from biasgrid.warehouse.build import load_warehouse

    models = prepared.models if prepared.resolved.settings.reuse != "all" else ()

    def work() -> None:
        with suppress(UserError):
            for connector in {target.connector for target in models}:
                factory(connector)
        load_warehouse(has_file=True)  # else the flow prepares the rest

    threading.Thread(target=work, name="imports", daemon=True).start()
