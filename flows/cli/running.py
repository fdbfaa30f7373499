"""A run under way from the terminal: its server, its progress, how it ends and is interrupted."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from biasgrid.catalogs.errors import UserError

if TYPE_CHECKING:
    from biasgrid.catalogs.schema.entries import ScenarioSettings
    from biasgrid.flows.forecast.totals import Forecast
    from biasgrid.flows.runs.prepare import Prepared

INTERRUPTED = 130


@contextmanager
def early_server() -> Iterator[None]:
    """Prefect's server starts while scenario and catalogs are read; a mistake found there ends it."""
    from biasgrid.flows.operations.prefect_server import start_early

    # by default the signal ends the process at once, and the temporary server lives on; Prefect passes it to the
    # previous handler
    before = signal.signal(signal.SIGTERM, _as_ctrl_c)
    try:
        with _quiet(), start_early():
            yield
    except KeyboardInterrupt:
        typer.echo("biasgrid: interrupted; nothing was sent", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


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
    except (typer.Exit, UserError):
        with suppress(OSError):
            for folder in missing:
                folder.rmdir()
        raise


def confirm_or_exit(expected: Forecast, settings: ScenarioSettings, *, yes: bool, at_most: bool = False) -> None:
    """Asks before much is spent; ends the command where the answer is no."""
    from biasgrid.flows.forecast.confirmation import Declined, confirm

    try:
        confirm(expected, settings, yes=yes, at_most=at_most)
    except Declined:
        typer.echo("biasgrid: not started; nothing was sent", err=True)
        raise typer.Exit(INTERRUPTED) from None


def run_with_progress(prepared: Prepared[Any], flow: str, **parameters: Any) -> Any:
    """What a flow returns that is run with progress on the terminal; the command ends where it is interrupted."""
    from biasgrid.flows.cli.exits import leave
    from biasgrid.flows.terminal.progress import RunProgress

    with RunProgress() as progress:
        try:
            return _flow(flow, prepared, progress, parameters)
        except KeyboardInterrupt:
            typer.echo(f"biasgrid: interrupted; {progress.how_to_go_on}", err=True)
            _report_batches(parameters["data"], progress.run_id)
            leave(INTERRUPTED)
        except UserError:
            raise
        except Exception:
            typer.echo(f"biasgrid: the run broke off; {progress.how_to_go_on}", err=True)
            raise


def _report_batches(data: str, run_id: str | None) -> None:
    from biasgrid.flows.runs.cells import how_batches_go_on
    from biasgrid.warehouse.storage.lake import Lake

    text = how_batches_go_on(Lake.at(data), run_id) if run_id else None
    if text:
        typer.echo(f"biasgrid: {text}", err=True)


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
    """What a flow returns. Raises KeyboardInterrupt where it was stopped from outside, by any signal."""
    from prefect.exceptions import TerminationSignal

    from biasgrid.flows.operations.reachability import require_prefect

    try:
        with require_prefect():
            return asyncio.run(begin())
    except BaseException as error:
        if not isinstance(error, asyncio.CancelledError) and not _holds(error, TerminationSignal):
            raise
        # from a container or a scheduler that stops the run: an interruption like any other
        raise KeyboardInterrupt from None


def _import_early(prepared: Prepared[Any]) -> None:
    """SDKs and the warehouse take half a second each to load, and Prefect's server as long to answer: all at once.
    Problems of an SDK are reported where it is used."""
    from biasgrid.tasks.connectors.registry import factory
    from biasgrid.warehouse.build import load_warehouse

    def work() -> None:
        with suppress(UserError):
            for connector in {target.connector for target in prepared.models}:
                factory(connector)
        load_warehouse()

    threading.Thread(target=work, name="imports", daemon=True).start()


def _as_ctrl_c(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _holds(error: BaseException, kind: type[BaseException]) -> bool:
    """Whether an error is of a kind, is a group that has one, or came about while one was handled."""
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop()
        if isinstance(one, kind):
            return True
        if id(one) not in seen:  # what is taken out of a group came about while that group was handled
            seen.add(id(one))
            waiting += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
            waiting += [one.__context__] if one.__context__ else ()
    return False
