"""`finetune`: a model is tuned to share out tasks without implicit bias; `finetune dataset`: the files alone."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from biasgrid.flows.cli.options import Data, Force, Yes
from biasgrid.flows.cli.running import INTERRUPTED, at_once, awaited, left_as_it_was

if TYPE_CHECKING:
    from biasgrid.flows.finetuning.prepare import PreparedTuning, TuningOutcome
    from biasgrid.warehouse.storage.lake import Lake


class Tuned(StrEnum):
    full, half = "full", "half"


class ModelFirst(typer.core.TyperGroup):
    """`finetune MODEL` is short for `finetune model MODEL`: no model is called like a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args = ["model", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=ModelFirst, no_args_is_help=True)

Variants = Annotated[
    Tuned,
    typer.Option("--variant", help="`full`: assignments with and without implicit bias; `half`: those without."),
]
Languages = Annotated[
    list[str] | None, typer.Option("--language", help="Of the assignments; may be repeated.", show_default="en_us")
]
Draw = Annotated[
    int, typer.Option("--seed", min=0, max=2**31 - 1, help="Draws names, and the scenes that are kept.")
]


@app.callback(subcommand_metavar="MODEL | COMMAND [OPTIONS]")
def finetune() -> None:
    """Tune a model so that it shares out tasks without implicit bias: `biasgrid finetune openai/gpt-4o-mini`."""


@app.command()
def model(
    model: Annotated[
        str,
        typer.Argument(
            help="`provider/model`; with `--local` a directory of a model, or its name at the hub.",
            show_default=False,
        ),
    ],
    variant: Variants = Tuned.full,
    language: Languages = None,
    epochs: Annotated[
        int | None,
        typer.Option("--epochs", min=1, max=50, help="How often each example is seen; else by variant."),
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option("--learning-rate", min=0, help="A multiplier of the provider's; with `--local` the rate."),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", min=1, max=256, help="Examples learnt from at once.")
    ] = None,
    suffix: Annotated[
        str | None, typer.Option("--suffix", help="What the new model's name says of it.", show_default=False)
    ] = None,
    seed: Draw = 0,
    local: Annotated[
        bool, typer.Option("--local", help="Tune on this machine, with LoRA: needs `make env-finetune`.")
    ] = False,
    data: Data = None,
    yes: Yes = False,
) -> None:
    """Tune a model, wait until it is done, and tell how the new one is named in scenarios.

    The same command again goes on with a job that is under way, and tells what came of one that is done: nothing
    is paid twice. Exit codes: 0 there is a new model, 2 a mistake to put right, 3 none came of it, 130 interrupted
    (the job goes on at the provider).
    """
    asked: dict[str, Any] = {
        "model": model,
        "variant": variant.value,
        "epochs": epochs,
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "suffix": suffix,
        "seed": seed,
        "local": local,
    }
    languages = tuple(dict.fromkeys(language or ["en_us"]))
    with at_once():
        prepared = _prepared(**asked, languages=languages)
        from biasgrid.flows.runs.prepare import open_lake

        with left_as_it_was(data):
            lake = open_lake(data)
            _agreed(prepared, lake, yes=yes)
        _finish(languages=list(languages), data=lake.named, **asked)


@app.command()
def dataset(
    out: Annotated[Path, typer.Option("--out", help="Directory to write into.", show_default=False)],
    variant: Variants = Tuned.full,
    language: Languages = None,
    seed: Draw = 0,
    force: Force = False,
) -> None:
    """Write what a model would be tuned on: `train.jsonl` and `validation.jsonl` in OpenAI's format, and
    `dataset.json`, which tells of them."""
    from biasgrid.flows.finetuning.prepare import prepare_dataset, write_files

    made = prepare_dataset(variant.value, language or ["en_us"], seed)
    told = made.told
    for path in write_files(made, out, force=force):
        typer.echo(path)
    typer.echo(f"{told['train']} examples to train on, {told['validation']} to validate")


def _prepared(**asked: Any) -> PreparedTuning:
    from biasgrid.flows.finetuning.prepare import Asked, prepare_tuning
    from biasgrid.flows.operations.secrets import secret_blocks

    return prepare_tuning(Asked(**asked), secret_blocks())


def _agreed(prepared: PreparedTuning, lake: Lake, *, yes: bool) -> None:
    """Tells what is to be paid for and, where that is much or unknown, asks. Ends the command where the answer is
    no."""
    from biasgrid.flows.finetuning.forecast import confirm
    from biasgrid.flows.forecast.confirmation import Declined

    try:
        confirm(prepared.order, lake, yes=yes)
    except Declined:
        typer.echo("biasgrid: not started; nothing was sent", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _finish(**parameters: Any) -> NoReturn:
    """Run the flow, show what came of it and exit as it ended."""
    from functools import partial

    from biasgrid.flows.cli.process import leave
    from biasgrid.flows.finetuning.flow import finetune as flow
    from biasgrid.flows.finetuning.prepare import telling
    from biasgrid.tasks.connectors.client.retry import Unreachable

    telling.set(lambda words: typer.echo(words, err=True))
    try:
        found: TuningOutcome = awaited(partial(flow, **parameters))
    except KeyboardInterrupt:
        told = "nothing of it stays" if parameters["local"] else "the job goes on at the provider"
        typer.echo(f"biasgrid: interrupted; {told}: the same command takes it up again", err=True)
        leave(INTERRUPTED)
    except Unreachable as away:
        typer.echo(f"biasgrid: {away}", err=True)
        raise typer.Exit(3) from None
    _show(found)
    raise typer.Exit(found.exit_code)


def _show(found: TuningOutcome) -> None:
    from biasgrid.catalogs.text_safety import excerpt

    if found.exit_code:
        typer.echo(
            f"{found.base} was not tuned ({found.state}): {excerpt(found.why or 'no reason given', 600)}", err=True
        )
        typer.echo(found.how, err=True)
        return
    typer.echo(f"{found.base} was tuned: {found.model or 'a model to deploy'}")
    typer.echo(found.how)
    typer.echo(f"files and card: {found.folder}")
