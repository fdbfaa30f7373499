"""The `biasgrid` command. Heavy packages are imported where a command needs them: `--version` answers at once."""

from __future__ import annotations

import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

import typer
import typer.core
from typer.main import get_command

from biasgrid.catalogs.errors import Problem, UserError, close_names
from biasgrid.flows.cli.exits import LOST, UNREAD, UNWRITTEN, is_unread, print_error, report_lost_output
from biasgrid.flows.operations.interruption import interruption
from biasgrid.flows.terminal.encoding import set_plain_output

INTERRUPTED = 130


class Commands(typer.core.TyperGroup):
    """Messages about wrong options in our words, about options that are given twice, and about Ctrl-C."""

    def invoke(self, ctx: Any) -> Any:
        _refuse_repeated([*ctx._protected_args, *ctx.args])
        try:
            return super().invoke(ctx)
        except typer.BadParameter as wrong:
            wrong.message = _explain(wrong)
            raise
        except KeyboardInterrupt:  # where a terminal sends the key itself, or Prefect cancels a run
            sys.stdout.flush()
            interruption.report(signal.SIGINT)
            raise typer.Exit(INTERRUPTED) from None


def _explain(wrong: typer.BadParameter) -> str:
    """What is wrong with an option's value, which it names."""
    errors = getattr(wrong.__cause__ or wrong.__context__, "errors", None)
    found = errors()[:1] if callable(errors) else []
    if not found or found[0]["type"] == "value_error":
        return _offer_near(str(wrong.message).removeprefix("Value error, "))
    from biasgrid.catalogs.loading.pydantic_errors import explain

    return explain(found[0], "it").removeprefix("it is ")


def _offer_near(message: str) -> str:
    """The message and, of a choice that there is not, the one that is spelt most like it."""
    choice = re.match(r"'(.*)' is not one of (.*)\.", message)
    near = close_names(choice[1], re.findall(r"'([^']*)'", choice[2])) if choice else []
    return f"{message} Did you mean '{near[0]}'?" if near else message


ONCE = ("--format", "--library")
"""Options that look as if values added up; of others the last wins, so that scripts can append one."""


def _refuse_repeated(words: list[str]) -> None:
    """Raises UserError for an option of `ONCE` that is given twice."""
    given = [word.partition("=")[0] for word in words]
    if repeated := [flag for flag in ONCE if given.count(flag) > 1]:
        raise UserError(Problem("is given more than once", flag, "name one") for flag in repeated)


COMMANDS: Final[Mapping[str, str]] = {
    "init": "start:init",
    "list": "start:list_entries",
    "run": "kind:benchmark",
    **{name: f"run_commands:{name}" for name in ("plan", "prepare", "resume", "evaluate")},
    "probe": "kind:probe",
    "redteam": "kind:redteam",
    "interact": "kind:interaction",
    "audit": "kind:audit",
    **{name: f"result_commands:{name}" for name in ("report", "show", "compare", "sql", "export", "trace")},
    "review": "review:review",
    "serve": "serve:serve",
    "doctor": "maintenance:doctor",
    "backup": "housekeeping:backup",
    "restore": "housekeeping:restore",
}
"""Module of this room and function of each command, or `kind` and the kind of run that it starts."""
GROUPS: Final[Mapping[str, str]] = {
    "catalog": "catalog:app",
    "connector": "maintenance:connectors",
    "evidence": "result_commands:app",
    "finetune": "finetune:app",
    "import": "catalog:imports",
    "respondent": "serve:respondents",
    "runs": "housekeeping:runs",
    "warehouse": "maintenance:app",
}


def make_app(word: str = "") -> typer.Typer:
    """All commands, or the one named `word` alone, so that it starts without the modules of others."""
    made = typer.Typer(
        name="biasgrid",
        cls=Commands,
        help="Bias benchmarks for language models: requirements in, findings out.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
    )
    made.callback()(biasgrid)
    is_known = word in COMMANDS or word in GROUPS
    for name, place in COMMANDS.items():
        if word == name or not is_known:
            made.command(name)(_load(place))
    for name, place in GROUPS.items():
        if word == name or not is_known:
            made.add_typer(_load(place), name=name)
    return made


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    if module == "kind":
        from biasgrid.flows.cli.run_commands import command_of
        from biasgrid.flows.runs.kinds import find_kind

        return command_of(find_kind(name))
    return getattr(import_module(f"biasgrid.flows.cli.{module}"), name)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"biasgrid {version('biasgrid')}")
        raise typer.Exit


def biasgrid(
    version: bool = typer.Option(False, "--version", help="Show the version.", callback=_version, is_eager=True),
) -> None:
    """Bias benchmarks for language models: requirements in, findings out."""


def main(commands: typer.Typer | None = None) -> None:
    """Run the command. A user's mistake is one clear message and exit code 2, storage that gave way code 3, output
    that cannot be written code 120."""
    set_plain_output()
    interruption.begin()
    try:
        _build_command(commands, "".join(sys.argv[1:2]))()
    except UserError as mistake:
        sys.exit(_report_error(mistake))
    except Exception as error:  # noqa: BLE001 - 1, Python's own code for a crash, would read as "not met"
        sys.exit(_report_crash(error))


@cache
def _build_command(commands: typer.Typer | None, word: str) -> Callable[[], object]:
    """Made once, since every option is inspected for it."""
    return get_command(commands or make_app(word))


def _report_crash(error: Exception) -> int:
    if is_unread(error):
        return UNREAD
    if isinstance(error, OSError) and error.errno in LOST and error.filename is None:
        report_lost_output(error)
        return UNWRITTEN
    if mistake := _find_damage_behind(error) or _find_wrong_settings(error):
        return _report_error(mistake)
    traceback.print_exception(error)
    return 3


def _find_damage_behind(error: Exception) -> UserError | None:
    """The damage of the data that was read, if a library that reads files failed."""
    if type(error).__module__.partition(".")[0] not in ("polars", "pyarrow", "duckdb", "_duckdb"):
        return None
    from biasgrid.flows.runs.prepare import opened_lakes
    from biasgrid.warehouse.storage.verification import list_files, refuse_damaged

    try:
        for lake in opened_lakes:
            refuse_damaged(lake, list_files(lake))
    except UserError as damage:
        return damage
    return None


def _find_wrong_settings(error: Exception) -> UserError | None:
    """What Prefect refuses in its settings when it is imported: variables, a profile or files of its own."""
    from pydantic import ValidationError

    frames = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__))
    if not isinstance(error, ValidationError) or "pydantic_settings.main" not in frames:  # a fault of our own
        return None
    from biasgrid.catalogs.loading.pydantic_errors import explain

    refused = [each for each in error.errors() if each["type"] != "default_factory_not_called"]
    return UserError(
        Problem(explain(each, f"Prefect's `{each['loc'][-1]}`"), _variable_of(each), CORRECT_SETTING)
        for each in refused
    )


CORRECT_SETTING = "correct it in the environment, `prefect.toml` or the profile: `prefect config view` shows them"


def _variable_of(refused: Mapping[str, Any]) -> str:
    """The variable of the environment that holds a refused setting, empty where a file does."""
    ending, value = f"_{refused['loc'][-1]}".upper(), str(refused["input"])
    found = (name for name, given in os.environ.items() if name.upper().endswith(ending) and given == value)
    return next((name for name in found if name.startswith("PREFECT_")), "")


def _report_error(mistake: UserError) -> int:
    from biasgrid.warehouse.storage.errors import OldWarehouseStays, StorageTrouble

    if isinstance(mistake, OldWarehouseStays):
        _print_problems(mistake, f"{mistake.headline}, and the warehouse stays as it was")
        return 3
    if isinstance(mistake, StorageTrouble):
        print_error(f"biasgrid: {'the run cannot go on' if mistake.run_id else 'storage gave way'}\n{mistake}")
        return 3
    _print_problems(mistake)
    return 2


SHOWN = 25
"""Problems shown at most: more of them are mostly one problem many times."""


def _print_problems(mistake: UserError, what: str = "") -> None:
    count = len(mistake.mistakes)
    right = "1 error" if count == 1 else f"{count} errors"
    lines = [f"biasgrid: {what or right}", *map(str, mistake.mistakes[:SHOWN])]
    if count > SHOWN:
        lines.append(f"… and {count - SHOWN} more")
    print_error("\n".join(lines))
