"""`review`: people's verdicts on a sample of a run, agreement, decisions where they disagree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

import typer

from biasgrid.flows.cli.options import DATA, FORCE, RUN_ID
from biasgrid.flows.operations.interruption import interruption
from biasgrid.flows.runs.options import Options, command, list_options, option, same
from biasgrid.tasks.report.figures import format_count

if TYPE_CHECKING:
    from biasgrid.flows.review.review import Desk
    from biasgrid.tasks.review.sample import Draw
    from biasgrid.warehouse.storage.lake import Lake

REVIEWER = "BIASGRID_REVIEWER"
FILTER = "Replies of this {} alone."


@dataclass(frozen=True, kw_only=True)
class ReviewOptions(Options):
    """What `review` may be given."""

    run: str | None = RUN_ID
    reviewer: str | None = option(None, "--reviewer", "Who reviews; by default who is logged in.", envvar=REVIEWER)
    size: int = option(100, "--size", "Replies in the sample.", min=1)
    seed: int = option(0, "--seed", "Draws the sample: the same for every reviewer.", min=0)
    concern: str | None = option(None, "--concern", FILTER.format("concern"))
    language: str | None = option(None, "--language", FILTER.format("language"))
    model: str | None = option(None, "--model", FILTER.format("model"))
    export: Path | None = option(None, "--export", "Write the sample as a blind sheet (CSV).", read=same)
    imported: Path | None = option(None, "--import", "Land the verdicts of such a sheet.", read=same)
    agreement: bool = option(False, "--agreement", "Show how far reviewers, oracle and judge agree.")
    adjudicate: bool = option(
        False, "--adjudicate", "Decide, with a reason, where verdicts differ: findings follow."
    )
    force: bool = FORCE
    data: str | None = DATA


REVIEW = "run reviewer size seed concern language model export imported agreement adjudicate force data"


@command(ReviewOptions, REVIEW)
def review(given: ReviewOptions) -> None:
    """Judge a sample of a benchmark's or a red team's replies yourself, blind: neither model nor verdict is shown.

    A review changes no finding. It shows how far oracle, judge and people agree; where they do not, a decision
    (`--adjudicate`; benchmarks alone) takes the place of the verdict that stood.

    Example: `biasgrid review --size 30`
    """
    from biasgrid.flows.review.review import Desk
    from biasgrid.flows.runs.kinds import all_kinds
    from biasgrid.flows.runs.prepare import existing_lake, lake_to_change
    from biasgrid.tasks.review.sample import Draw
    from biasgrid.warehouse.storage.runs import UNDER_WAY, find_run, refuse_other_kinds

    _refuse_several(given)
    reads_alone = given.export or given.agreement
    lake = existing_lake(given.data) if reads_alone else lake_to_change(given.data)
    found = find_run(lake, given.run, needs="review")
    reviews = {kind.name: kind.review for kind in all_kinds() if kind.review}
    refuse_other_kinds(found, "review", *reviews)
    if given.adjudicate:
        deciding = (name for name, one in reviews.items() if one.has_decisions)
        refuse_other_kinds(found, "decision that takes a verdict's place", *deciding)
    if given.agreement:
        _show_agreement(lake, found.run_id, reviews[found.kind].agreement)
        return
    if found.state in UNDER_WAY:
        typer.echo("note: the run is still under way, and its sample changes with every reply", err=True)
    desk = Desk.of(lake, found)
    draw = Draw(given.seed, given.size, given.concern, given.language, given.model)
    if given.export:
        _export_sheet(desk, draw, given.export, force=given.force)
    elif given.imported:
        _import_sheet(desk, given.imported, _reviewer_name(given.reviewer))
    else:
        _review_at_terminal(desk, draw, _reviewer_name(given.reviewer), adjudicate=given.adjudicate)


def _refuse_several(given: ReviewOptions) -> None:
    from biasgrid.catalogs.errors import Problem, UserError

    known = list_options(ReviewOptions)
    tasks = ("export", "imported", "agreement", "adjudicate")
    names = [known[name].flags[0] for name in tasks if getattr(given, name)]
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
    from biasgrid.catalogs.errors import Problem, UserError
    from biasgrid.flows.review.review import adjudicate as decide
    from biasgrid.flows.review.review import review
    from biasgrid.flows.review.screen import Screen

    screen = Screen()
    if screen.has_ended:
        remedy = "review at a terminal, or in a sheet: --export FILE, then --import FILE"
        raise UserError(Problem("there is neither a terminal nor a line to read", "standard input", remedy))
    interruption.advice = lambda: "every answer is kept"
    if adjudicate:
        interruption.advice = lambda: "every decision is kept, and the same command lets findings follow them"
        typer.echo(f"{format_count(decide(desk, reviewer, screen), 'decision')} landed; findings follow them")
    else:
        review(desk, draw, reviewer, screen)
