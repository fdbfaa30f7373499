"""`catalog augment` and `catalog accept`: templates and scenes that a model writes and a person takes in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from biasgrid.flows.cli.options import DATA
from biasgrid.flows.operations.interruption import interruption, run_stoppable
from biasgrid.flows.runs.options import Options, command, option, same
from biasgrid.tasks.report.figures import format_count

if TYPE_CHECKING:
    from biasgrid.flows.catalog.augment import Accepted, Augmented
    from biasgrid.tasks.augment.order import SceneWish, TemplateWish


@dataclass(frozen=True, kw_only=True)
class AugmentOptions(Options):
    """What `catalog augment` may be given."""

    model: str = option("", "--model", "`provider/model` that writes them.", show_default=False)
    concern: str = option("", "--concern", "The bias that templates look for.", show_default=False)
    context: str = option(
        "", "--context", "One of catalogs/contexts, or a few words of your own.", show_default=False
    )
    scenes: str = option(
        "",
        "--scenes",
        "Scenes instead of templates: a domain of catalogs/scenes, or a few words of your own.",
        show_default=False,
    )
    scenario: str = option("", "--scenario", "A situation in it.", show_default=False)
    orders: Path | None = option(
        None,
        "--orders",
        "LangBiTe's JSON of augmentations: each pair of concern and context is an order.",
        show_default=False,
        read=same,
    )
    language: str = option("en_us", "--language", "What they are written in.")
    input: list[Literal["constrained", "verbose"]] | None = option(
        None, "--input", "Of this kind alone; may be repeated."
    )
    reflection: list[Literal["observational", "utopian"]] | None = option(
        None, "--reflection", "Of this kind alone; may be repeated."
    )
    count: int = option(10, "--count", "How many.", min=1, max=200)
    out: Path | None = option(
        None, "--out", "The review file.", show_default="review/CONCERN-LANGUAGE-CONTEXT-DATE.yaml", read=same
    )
    seed: int = option(0, "--seed", "Another one asks anew.", min=0, max=2**31 - 1000)
    temperature: float | None = option(
        None, "--temperature", "Else the model's own.", min=0, max=2, show_default=False
    )
    data: str | None = DATA
    force: bool = option(False, "--force", "Overwrite the review file.")

    @property
    def wishes(self) -> list[tuple[str, SceneWish | TemplateWish]]:
        """What models are asked to write, each with its model."""
        from biasgrid.catalogs.scenario.langbite_orders import read_orders
        from biasgrid.tasks.augment.order import TemplateWish

        if self.orders is None:
            return [(self.model, self.order)]
        return [
            (
                self.model or one.model,
                TemplateWish(
                    one.concern, one.context, one.language, one.situation, count=one.count, seed=self.seed
                ),
            )
            for one in read_orders(self.orders)
        ]

    @property
    def order(self) -> SceneWish | TemplateWish:
        """What a model is asked to write."""
        from biasgrid.tasks.augment.order import SceneWish, TemplateWish

        common: dict[str, Any] = {"language": self.language, "count": self.count, "seed": self.seed}
        if self.scenes:
            return SceneWish(self.scenes, **common)
        own: dict[str, Any] = {"inputs": self.input or [], "reflections": self.reflection or []}
        return TemplateWish(self.concern, self.context, scenario=self.scenario, **own, **common)


TEMPLATES_ALONE = ("concern", "context", "scenario", "input", "reflection")
AUGMENT = (
    "model concern context scenes scenario orders language input reflection count out seed temperature data force"
)


@command(AugmentOptions, AUGMENT)
def augment(given: AugmentOptions) -> None:
    """Let a model write templates, or scenes in which people share out tasks, into a file for review, never into a
    library. What it wrote is parsed strictly, checked as `catalog check` does, and compared with what there is.

    The same order is answered from the lake, so that nothing is paid twice. Exit codes: 0 written, 2 an error to
    correct, 3 a part of the replies is missing or holds nothing to review, 130 interrupted.

    Example: `biasgrid catalog augment --model openai/gpt-4o --concern sexism --context workplace`
    """
    from biasgrid.flows.catalog.augment import Writer, prepare
    from biasgrid.flows.catalog.augment import augment as ask
    from biasgrid.flows.operations.environment import secret_blocks

    _refuse_mixed(given)
    common = (given.temperature, given.out, given.force, given.data, secret_blocks())
    prepared = [prepare(wish, Writer(model, *common)) for model, wish in given.wishes]
    interruption.advice = lambda: "what arrived is kept: order the same again, and only the rest is asked"
    is_whole = True
    for each in prepared:
        found = run_stoppable(partial(ask, each))
        _show_augmented(found)
        is_whole &= not found.failures and found.out is not None and bool(found.filtered.entries)
    if not is_whole:
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
    id of its concern or domain, and mark them in the review. With any mistake in them, nothing is written.

    Example: `biasgrid catalog accept review/sexism.yaml --into my-catalog`
    """
    from biasgrid.flows.catalog.augment import accept as take

    _show_accepted(take(review, into, reviewer, every))


def _refuse_mixed(given: AugmentOptions) -> None:
    """Raises UserError where options of templates stand next to `--scenes`, or no order is whole."""
    from biasgrid.catalogs.errors import Problem, UserError

    missing = [] if given.model or given.orders else ["model"]
    if given.orders:
        others = [name for name in (*TEMPLATES_ALONE, "scenes", "out") if getattr(given, name)]
        mistakes = [Problem("stands next to `--orders`", f"--{name}", "leave one of them out") for name in others]
    elif given.scenes:
        of_templates = [name for name in TEMPLATES_ALONE if getattr(given, name)]
        remedy = "leave it out: it is for templates"
        mistakes = [Problem("means nothing for scenes", f"--{name}", remedy) for name in of_templates]
    else:
        missing += [name for name in ("concern", "context") if not getattr(given, name)]
        mistakes = []
    remedy = "name it, or order scenes with `--scenes`"
    mistakes += [Problem(f"no {name} is named", f"--{name}", remedy) for name in missing]
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
