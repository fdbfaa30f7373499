"""`finetune`: a model is tuned to share out tasks without implicit bias; `finetune dataset`: the files alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from biasgrid.flows.cli.running import INTERRUPTED, early_server, remove_new_directories, run_interruptible
from biasgrid.flows.finetuning.options import PARAMETERS, WORDS, TuningOptions
from biasgrid.flows.operations.interruption import interruption
from biasgrid.flows.runs.options import command, option

if TYPE_CHECKING:
    from biasgrid.flows.finetuning.prepare import PreparedTuning, TuningOutcome
    from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, kw_only=True)
class DatasetOptions(TuningOptions):
    """What `finetune dataset` may be given."""

    out: str = option("", "--out", "Directory to write into.", cli=Path, show_default=False)
    force: bool = option(False, "--force", "Replace a file that exists.")


class ModelFirst(typer.core.TyperGroup):
    """`finetune MODEL` is short for `finetune model MODEL`: no model is called like a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args = ["model", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=ModelFirst, no_args_is_help=True)


@app.callback(subcommand_metavar="MODEL | COMMAND [OPTIONS]")
def finetune() -> None:
    """Tune a model so that it shares out tasks without implicit bias: `biasgrid finetune openai/gpt-4o-mini`."""


@app.command()
@command(TuningOptions, WORDS, model=...)
def model(given: TuningOptions) -> None:
    """Tune a model, wait until it is done, and show how the new one is named in scenarios.

    The same command again resumes a job that is under way, and shows the result of one that is done: nothing
    is paid twice. Exit codes: 0 there is a new model, 2 an error to correct, 3 none came of it, 130 interrupted
    (the job goes on at the provider).

    Example: `biasgrid finetune model openai/gpt-4o-mini`
    """
    from biasgrid.flows.finetuning.prepare import prepare_tuning
    from biasgrid.flows.operations.environment import secret_blocks

    with early_server():
        prepared = prepare_tuning(given, secret_blocks())
        from biasgrid.flows.runs.prepare import open_lake

        with remove_new_directories(given.data):
            lake = open_lake(given.data)
            _agree(prepared, lake, yes=given.yes)
        _finish(**given.pick(*PARAMETERS.split()) | {"data": lake.named})


@app.command()
@command(DatasetOptions, "out variant languages seed force", out=...)
def dataset(given: DatasetOptions) -> None:
    """Write what a model would be tuned on: `train.jsonl` and `validation.jsonl` in OpenAI's format, and
    `dataset.json`, which describes them.

    Example: `biasgrid finetune dataset --out training`
    """
    from biasgrid.flows.finetuning.prepare import prepare_dataset, write_files

    made = prepare_dataset(given.variant, given.spoken, given.seed)
    text = made.card
    for path in write_files(made, Path(given.out), force=given.force):
        typer.echo(path)
    typer.echo(f"{text['train']} examples to train on, {text['validation']} to validate")


def _agree(prepared: PreparedTuning, lake: Lake, *, yes: bool) -> None:
    """Prints what is to be paid for, and asks where that is much or unknown; ends the command at a no."""
    from biasgrid.flows.finetuning.prepare import confirm
    from biasgrid.flows.forecast.confirmation import Declined

    try:
        confirm(prepared.order, lake, yes=yes)
    except Declined:
        typer.echo("biasgrid: not started; nothing was sent", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _finish(**parameters: Any) -> NoReturn:
    """Run the flow, show what came of it and exit as it ended."""
    from functools import partial

    from biasgrid.flows.finetuning.flow import finetune as flow
    from biasgrid.flows.finetuning.prepare import progress_listener
    from biasgrid.tasks.connectors.client.retry import Unreachable

    progress_listener.set(lambda words: typer.echo(words, err=True))
    text = "nothing of it stays" if parameters["local"] else "a job that was created continues at the provider"
    interruption.advice = lambda: f"{text}: the same command takes it up again"
    try:
        found: TuningOutcome = run_interruptible(partial(flow, **parameters))
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
