"""The `biasgrid` command. Heavy packages are imported where a command needs them: `--version` answers at once."""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import typer
import typer.core
from typer.main import get_command

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.cli import catalog, finetune, maintenance, result_commands
from biasgrid.flows.cli.review import review
from biasgrid.flows.cli.run_commands import command_of, evaluate, plan, resume
from biasgrid.flows.cli.serve import respondents, serve
from biasgrid.flows.runs.kinds import all_kinds
from biasgrid.flows.terminal.encoding import set_plain_output


class Commands(typer.core.TyperGroup):
    """What is wrong with an option is told in its own words, and not as the library's that checks it."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as wrong:
            wrong.message = wrong.message.removeprefix("Value error, ")
            raise


app = typer.Typer(
    name="biasgrid",
    cls=Commands,
    help="Bias benchmarks for language models: requirements in, findings out.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="markdown",
)
_main, *_others = map(command_of, all_kinds())
_results = result_commands
_commands: tuple[Callable[..., None], ...] = (
    *(_main, plan, resume, evaluate, *_others),
    *(_results.report, _results.show, _results.compare, _results.runs, _results.sql, _results.export),
    *(_results.trace, review, serve, maintenance.doctor),
)
for _command in _commands:
    app.command()(_command)
app.add_typer(catalog.app, name="catalog")
app.add_typer(_results.app, name="evidence")
app.add_typer(finetune.app, name="finetune")
app.add_typer(respondents, name="respondent")
app.add_typer(maintenance.app, name="warehouse")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"biasgrid {version('biasgrid')}")
        raise typer.Exit


@app.callback()
def biasgrid(
    version: bool = typer.Option(False, "--version", help="Show the version.", callback=_version, is_eager=True),
) -> None:
    """Bias benchmarks for language models: requirements in, findings out."""


UNWRITTEN = 120
"""Python's own exit code where standard output could not be written to the end."""
LOST = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE, errno.EBADF})
"""How a stream fails. Files of the lake and reports that cannot be written are told before, by their paths."""


def main(commands: typer.Typer = app) -> None:
    """Run the command. A user's mistake is one clear message and exit code 2, storage that gave way code 3, output
    that cannot be written code 120."""
    set_plain_output()
    try:
        _build_command(commands)()
    except UserError as mistake:
        sys.exit(_report_error(mistake))
    except Exception as error:  # noqa: BLE001 - 1, Python's own code for a crash, would read as "not met"
        sys.exit(_report_crash(error))


@cache
def _build_command(commands: typer.Typer) -> Callable[[], object]:
    """Made once: every option of every command is looked at for it."""
    return get_command(commands)


def _report_crash(error: Exception) -> int:
    if isinstance(error, OSError) and error.errno in LOST and error.filename is None:
        report_lost_output(error)
        return UNWRITTEN
    traceback.print_exception(error)
    return 3


def report_lost_output(error: OSError) -> None:
    """Says that the output is not whole; nothing where it is its reader who has gone."""
    if error.errno != errno.EPIPE:
        _print_error(f"biasgrid: the output cannot be written: {error.strerror}")


def _print_error(words: str) -> None:
    with suppress(OSError):  # what cannot be said changes no exit code
        typer.echo(words, err=True)


def _report_error(mistake: UserError) -> int:
    from biasgrid.warehouse.storage.errors import OldWarehouseStays, StorageTrouble

    if isinstance(mistake, OldWarehouseStays):
        _print_problems(mistake, f"{mistake.headline}, and the warehouse stays as it was")
        return 3
    if isinstance(mistake, StorageTrouble):
        _print_error(f"biasgrid: {'the run cannot go on' if mistake.run_id else 'storage gave way'}\n{mistake}")
        return 3
    _print_problems(mistake)
    return 2


SHOWN = 25
"""Mistakes told at once; more of them are mostly one mistake many times."""


def _print_problems(mistake: UserError, what: str = "") -> None:
    count = len(mistake.mistakes)
    right = "one thing to put right" if count == 1 else f"{count} things to put right"
    lines = [f"biasgrid: {what or right}", *map(str, mistake.mistakes[:SHOWN])]
    if count > SHOWN:
        lines.append(f"… and {count - SHOWN} more")
    _print_error("\n".join(lines))
