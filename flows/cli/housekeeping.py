"""`runs`, which lists runs and forgets them, `backup` and `restore`."""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.cli.options import Data
from biasgrid.tasks.report.figures import format_count

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before anything is removed.")]

runs = typer.Typer(help="List the runs, newest first: `biasgrid runs`. `forget` removes prompts and replies.")


class Keep(StrEnum):
    marts, evidence = "marts", "evidence"


@runs.callback(invoke_without_command=True)
def listing(context: typer.Context, data: Data = None) -> None:
    """List the runs, newest first, each with the beginning of its id that every command takes, and how many models
    have which verdict; `forget` removes prompts and replies. A run that is `killed` has recorded no end, and no
    process writes it."""
    from biasgrid.flows.results.run_list import list_runs
    from biasgrid.flows.runs.prepare import existing_lake

    if context.invoked_subcommand is None:
        list_runs(existing_lake(data))


@runs.command()
def forget(
    run: Annotated[
        str | None, typer.Argument(help="A run's id, or a beginning or end of it.", show_default=False)
    ] = None,
    why: Annotated[str, typer.Option("--why", help="The reason, for the tombstone.", show_default=False)] = "",
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="AGE",
            help="In place of a run: all that started so long ago, such as `400d` (s, m, h, d, w).",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        Keep, typer.Option("--keep", help="What stays: the marts, or also an evidence bundle, which has replies.")
    ] = Keep.marts,
    yes: Yes = False,
    data: Data = None,
) -> None:
    """Remove prompts, replies and verdicts of a run for ever. Its marts stay, also in later builds, and a
    tombstone: who removed what, when and why, with a hash of each file.

    Such a run can no longer be resumed, judged, reviewed, compared or reported; `show`, `sql` and trends have it.
    Runs that reused its replies keep their copies.

    Example: `biasgrid runs forget 01M86RMJ`
    """
    from biasgrid.flows.results.retention import finish_forgetting, measure, runs_to_forget
    from biasgrid.flows.results.retention import forget as forget_runs
    from biasgrid.flows.runs.prepare import lake_to_change

    _refuse_misuse(run, why, older_than)
    lake = lake_to_change(data)
    finish_forgetting(lake)
    chosen = runs_to_forget(lake, run, older_than)
    size = measure(lake, chosen)
    for one in chosen:
        typer.echo(f"{one.run_id}  {one.kind}, started {one.started_at:%Y-%m-%d}")
    if not chosen:
        typer.echo("no run to forget")
        return
    amount = f"{format_count(size.files, 'file')} of {size.bytes / 1e6:,.1f} MB"
    _confirm(f"{amount} of {format_count(len(chosen), 'run')} will be removed for ever", yes=yes)
    busy = forget_runs(lake, chosen, why, keep.value)
    typer.echo(f"forgotten: {format_count(len(chosen) - len(busy), 'run')}")
    if busy:
        remedy = "wait until it ends, then try again"
        raise UserError([Problem(f"run `{one}` is being written by another process", "", remedy) for one in busy])


def _refuse_misuse(run: str | None, why: str, older_than: str | None) -> None:
    from biasgrid.catalogs.choices import AGE

    if (run is None) == (older_than is None):
        what = "name either a run or an age" if run is None else "a run and an age are named"
        raise UserError(Problem(what, "RUN or --older-than", "such as `--older-than 400d`"))
    if older_than is not None and not re.fullmatch(AGE, older_than):
        raise UserError(Problem(f"`{older_than}` is no age", "--older-than", "write one such as `400d` or `8w`"))
    if not why.strip():
        what = "the tombstone needs a reason"
        raise UserError(Problem(what, "--why", "give one, such as `--why 'end of retention'`"))


Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The directory of the backup.", show_default=False)]


def backup(folder: Folder, data: Data = None) -> None:
    """Copy all prompts, replies and results to a directory, also while runs write. A later backup into the same
    directory copies what is new, and removes what has been forgotten.

    Example: `biasgrid backup backups/today`
    """
    from biasgrid.flows.operations.backup import back_up
    from biasgrid.flows.runs.prepare import existing_lake

    made = back_up(existing_lake(data), folder)
    typer.echo(f"{format_count(len(made.files), 'file')} of {made.bytes / 1e6:,.1f} MB, {made.new:,} new")
    typer.echo(folder)


def restore(
    folder: Folder,
    force: Annotated[
        bool, typer.Option("--force", help="Also where data is: it is moved to a folder `replaced-…`.")
    ] = False,
    data: Data = None,
) -> None:
    """Put a backup into the data directory, after a check of every file, and build the warehouse.

    Example: `biasgrid restore backups/today --data restored`
    """
    from biasgrid.flows.cli.running import remove_new_directories
    from biasgrid.flows.operations.backup import restore as restored
    from biasgrid.flows.runs.prepare import open_lake
    from biasgrid.warehouse.build.build import build
    from biasgrid.warehouse.storage.journal import recover

    with remove_new_directories(data):
        lake = open_lake(data)
        found = restored(folder, lake, force=force)
    typer.echo(f"restored {format_count(len(found.files), 'file')} of {found.bytes / 1e6:,.1f} MB")
    recover(lake)
    typer.echo(lake.display_path(build(lake)))


def _confirm(what: str, *, yes: bool) -> None:
    typer.echo(what, err=True)
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(Problem("nothing was removed: this needs a confirmation", "--yes", "add it"))
    if not typer.confirm("Go on?", err=True):
        typer.echo("biasgrid: nothing was removed", err=True)
        raise typer.Exit(130)
