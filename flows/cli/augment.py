"""`catalog augment` and `catalog accept`: templates and scenes that a model writes and a person takes in."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biasgrid.flows.cli.options import Data
from biasgrid.tasks.report.figures import format_count

if TYPE_CHECKING:
    from biasgrid.flows.catalog.accept import Accepted
    from biasgrid.flows.catalog.augment import Augmented


class Input(StrEnum):
    constrained, verbose = "constrained", "verbose"


class Reflects(StrEnum):
    observational, utopian = "observational", "utopian"


def augment(
    model: Annotated[str, typer.Option("--model", help="`provider/model` that writes them.", show_default=False)],
    concern: Annotated[
        str, typer.Option("--concern", help="The bias that templates look for.", show_default=False)
    ] = "",
    context: Annotated[
        str,
        typer.Option(
            "--context", help="One of catalogs/contexts, or a few words of your own.", show_default=False
        ),
    ] = "",
    scenes: Annotated[
        str,
        typer.Option(
            "--scenes",
            help="Scenes instead of templates: a domain of catalogs/scenes, or a few words of your own.",
            show_default=False,
        ),
    ] = "",
    scenario: Annotated[str, typer.Option("--scenario", help="A situation in it.", show_default=False)] = "",
    language: Annotated[str, typer.Option("--language", help="What they are written in.")] = "en_us",
    input: Annotated[  # noqa: A002
        list[Input] | None, typer.Option("--input", help="Of this kind alone; may be repeated.")
    ] = None,
    reflection: Annotated[
        list[Reflects] | None, typer.Option("--reflection", help="Of this kind alone; may be repeated.")
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, max=200, help="How many.")] = 10,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The review file.", show_default="review/CONCERN-LANGUAGE-CONTEXT-DATE.yaml"),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**31 - 1000, help="Another one asks anew.")] = 0,
    temperature: Annotated[
        float | None, typer.Option("--temperature", min=0, max=2, help="Else the model's own.", show_default=False)
    ] = None,
    data: Data = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the review file.")] = False,
) -> None:
    """Let a model write templates, or scenes in which people share out tasks, into a file for review, never into a
    library. What it wrote is parsed strictly, checked as `catalog check` does, and compared with what there is.

    The same order is answered from the lake, so that nothing is paid twice. Exit codes: 0 written, 2 an error to
    correct, 3 a part of the replies is missing or holds nothing to review, 130 interrupted.
    """
    from biasgrid.flows.catalog.augment import Writer, prepare
    from biasgrid.flows.catalog.augment import augment as ask
    from biasgrid.flows.operations.environment import secret_blocks
    from biasgrid.tasks.augment.order import SceneWish, TemplateWish

    _refuse_mixed(scenes, concern=concern, context=context, scenario=scenario, input=input, reflection=reflection)
    common: dict[str, Any] = {"language": language, "count": count, "seed": seed}
    inputs, reflections = ([each.value for each in given or ()] for given in (input, reflection))
    own: dict[str, Any] = {"scenario": scenario, "inputs": inputs, "reflections": reflections}
    wish = SceneWish(scenes, **common) if scenes else TemplateWish(concern, context, **own, **common)
    prepared = prepare(wish, Writer(model, temperature, out, force, data, secret_blocks()))
    try:
        found = asyncio.run(ask(prepared))
    except KeyboardInterrupt:
        text = "what arrived is kept: order the same again, and only the rest is asked"
        typer.echo(f"biasgrid: interrupted; {text}", err=True)
        raise typer.Exit(130) from None
    _show_augmented(found)
    if found.failures or found.out is None or not found.filtered.entries:
        raise typer.Exit(3)


def accept(
    review: Annotated[Path, typer.Argument(help="A review file of `catalog augment`.", show_default=False)],
    into: Annotated[
        Path | None,
        typer.Option("--into", help="A catalog of your own; else `BIASGRID_CATALOG`.", show_default=False),
    ] = None,
    reviewer: Annotated[str, typer.Option("--reviewer", help="Who decided.", show_default=False)] = "",
    every: Annotated[bool, typer.Option("--all", help="Accept what is undecided, too.")] = False,
) -> None:
    """Take the templates or scenes marked `decision: accept` into a catalog of your own, each under the next free
    id of its concern or domain, and mark them in the review. With any mistake in them, nothing is written."""
    from biasgrid.flows.catalog.accept import accept as take

    _show_accepted(take(review, into, reviewer, every))


def _refuse_mixed(scenes: str, **of_templates: object) -> None:
    """Raises UserError where options of templates stand next to `--scenes`, or neither order is whole."""
    from biasgrid.catalogs.errors import Problem, UserError

    if scenes:
        listener = [name for name, given in of_templates.items() if given]
        remedy = "leave it out: it is for templates"
        mistakes = [Problem("means nothing for scenes", f"--{name}", remedy) for name in listener]
    else:
        missing = [name for name in ("concern", "context") if not of_templates[name]]
        remedy = "name it, or order scenes with `--scenes`"
        mistakes = [Problem(f"no {name} is named", f"--{name}", remedy) for name in missing]
    if mistakes:
        raise UserError(mistakes)


def _show_augmented(found: Augmented) -> None:
    filtered = found.filtered
    for failure in found.failures:
        typer.echo(f"no reply: {failure}", err=True)
    if found.out is None:
        return
    agreeing, of = filtered.reverse_keyed
    noted = sum(map(bool, filtered.warnings))
    cost = "" if found.cost_usd is None else f", ${found.cost_usd:.4f}"
    kept = format_count(len(filtered.entries), found.kind)
    typer.echo(f"{kept} to review, {len(filtered.refused)} refused: {found.out}")
    keyed = f"{agreeing} of {of} are answered by agreeing; " if found.kind == "template" else ""
    typer.echo(f"{keyed}{noted} come with a warning")
    typer.echo(f"{format_count(found.sent, 'request')} sent, {found.kept} answered from the lake{cost}")
    if filtered.entries:
        typer.echo(f"decide on each, then: biasgrid catalog accept {found.out}")


def _show_accepted(found: Accepted) -> None:
    for warning in found.warnings:
        typer.echo(f"warning: {warning}", err=True)
    for name, settled in found.names:
        typer.echo(f"{name} is {settled}")
    where = f" into {found.library}" if found.names else ""
    typer.echo(f"{format_count(len(found.names), found.kind)} accepted{where}")
    listener = (("undecided", found.undecided), ("rejected", found.rejected), ("accepted before", found.done))
    for text, names in listener:
        if names:
            typer.echo(f"{len(names)} {text}: {', '.join(names)}")
