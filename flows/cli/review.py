"""`review`: people's verdicts on a sample of a run, agreement, decisions where they disagree."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated

import typer

from biasgrid.flows.cli.options import Data, Force, RunId
from biasgrid.tasks.report.figures import format_count

if TYPE_CHECKING:
    from biasgrid.flows.review.review import Desk
    from biasgrid.tasks.review.sample import Draw
    from biasgrid.warehouse.storage.lake import Lake

REVIEWER = "BIASGRID_REVIEWER"
INTERRUPTED = 130
FILTER = "Replies of this {} alone."


def review(
    run: RunId = None,
    reviewer: Annotated[
        str | None,
        typer.Option("--reviewer", envvar=REVIEWER, help="Who reviews; by default who is logged in."),
    ] = None,
    size: Annotated[int, typer.Option("--size", min=1, help="Replies in the sample.")] = 100,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Draws the sample: the same for every reviewer.")] = 0,
    concern: Annotated[str | None, typer.Option("--concern", help=FILTER.format("concern"))] = None,
    language: Annotated[str | None, typer.Option("--language", help=FILTER.format("language"))] = None,
    model: Annotated[str | None, typer.Option("--model", help=FILTER.format("model"))] = None,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the sample as a blind sheet (CSV).")
    ] = None,
    imported: Annotated[Path | None, typer.Option("--import", help="Land the verdicts of such a sheet.")] = None,
    agreement: Annotated[
        bool, typer.Option("--agreement", help="Show how far reviewers, oracle and judge agree.")
    ] = False,
    adjudicate: Annotated[
        bool,
        typer.Option("--adjudicate", help="Decide, with a reason, where verdicts differ: findings follow."),
    ] = False,
    force: Force = False,
    data: Data = None,
) -> None:
    """Judge a sample of a benchmark's or a red team's replies yourself, blind: neither model nor verdict is shown.

    A review changes no finding. It shows how far oracle, judge and people agree; where they do not, a decision
    (`--adjudicate`; benchmarks alone) takes the place of the verdict that stood.
    """
    from biasgrid.flows.review.review import Desk
    from biasgrid.flows.runs.kinds import all_kinds
    from biasgrid.flows.runs.prepare import existing_lake, lake_to_change
    from biasgrid.tasks.review.sample import Draw
    from biasgrid.warehouse.storage.runs import UNDER_WAY, find_run, refuse_other_kinds

    _refuse_several(export=export, imported=imported, agreement=agreement, adjudicate=adjudicate)
    lake = existing_lake(data) if export or agreement else lake_to_change(data)
    found = find_run(lake, run)
    reviews = {kind.name: kind.review for kind in all_kinds() if kind.review}
    refuse_other_kinds(found, "review", *reviews)
    if adjudicate:
        deciding = (name for name, one in reviews.items() if one.has_decisions)
        refuse_other_kinds(found, "decision that takes a verdict's place", *deciding)
    if agreement:
        _show_agreement(lake, found.run_id, reviews[found.kind].agreement)
        return
    if found.state in UNDER_WAY:
        typer.echo("note: the run is still under way, and its sample changes with every reply", err=True)
    desk, draw = Desk.of(lake, found), Draw(seed, size, concern, language, model)
    if export:
        _export_sheet(desk, draw, export, force=force)
    elif imported:
        _import_sheet(desk, imported, _reviewer_name(reviewer))
    else:
        _review_at_terminal(desk, draw, _reviewer_name(reviewer), adjudicate=adjudicate)


def _refuse_several(**asked: object) -> None:
    from biasgrid.catalogs.errors import Problem, UserError

    names = [f"--{'import' if name == 'imported' else name}" for name, given in asked.items() if given]
    if len(names) > 1:
        raise UserError(Problem(f"{' and '.join(names)} do not go together", remedy="do one after the other"))


def _reviewer_name(reviewer: str | None) -> str:
    import getpass

    from biasgrid.tasks.review.record import reviewer_name

    if reviewer is not None:
        return reviewer_name(reviewer)
    try:
        name = reviewer_name(getpass.getuser())
    except (OSError, KeyError):
        name = reviewer_name("")
    typer.echo(f"note: you review as `{name}`; --reviewer or {REVIEWER} names another", err=True)
    return name


def _show_agreement(lake: Lake, run_id: str, show: str) -> None:
    """`show` is the function of that kind of run, as `module:function`."""
    from biasgrid.flows.review.review import refresh

    refresh(lake)
    resolve_name(show)(lake, run_id)


def _export_sheet(desk: Desk, draw: Draw, out: Path, *, force: bool) -> None:
    from biasgrid.flows.review.review import export_sheet

    rows = export_sheet(desk, draw, out, force=force)
    how = "fill in `verdict` (passed, failed, refused, unreadable), then --import it"
    typer.echo(f"{out} ({format_count(rows, 'reply')}): {how}")


def _import_sheet(desk: Desk, path: Path, reviewer: str) -> None:
    from biasgrid.flows.review.review import import_sheet

    new, before = import_sheet(desk, path, reviewer)
    known = f", {before:,} had landed before" if before else ""
    typer.echo(f"{format_count(new, 'verdict')} of {reviewer} landed{known}")


def _review_at_terminal(desk: Desk, draw: Draw, reviewer: str, *, adjudicate: bool) -> None:
    from biasgrid.flows.review.review import adjudicate as decide
    from biasgrid.flows.review.review import review
    from biasgrid.flows.review.screen import Screen

    screen = Screen()
    try:
        if adjudicate:
            typer.echo(f"{format_count(decide(desk, reviewer, screen), 'decision')} landed; findings follow them")
        else:
            review(desk, draw, reviewer, screen)
    except KeyboardInterrupt:
        typer.echo("biasgrid: interrupted; every answer is kept", err=True)
        raise typer.Exit(INTERRUPTED) from None
