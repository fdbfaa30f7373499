"""Prepares and checks a fine-tuning order, and summarises its outcome."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from biasgrid.catalogs.choices import Variant
from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.finetuning.options import TuningOptions
from biasgrid.flows.forecast.confirmation import ask_to_go_on, threshold
from biasgrid.flows.terminal.console import dollars
from biasgrid.tasks.connectors.batch.fine_tuning import Hyperparameters, check_tunable
from biasgrid.tasks.connectors.keys import Secrets, missing_keys
from biasgrid.tasks.finetuning.dataset import TRAIN, VALIDATION, Dataset, as_json, dataset
from biasgrid.tasks.finetuning.local import LocalOrder, missing_packages
from biasgrid.tasks.finetuning.order import EPOCHS, LOCAL_EPOCHS, Order, Recipe, find_flaws
from biasgrid.tasks.finetuning.tune import SUCCEEDED, Job, find_open_job
from biasgrid.warehouse.storage.atomic_file import replace_atomically
from biasgrid.warehouse.storage.errors import storing
from biasgrid.warehouse.storage.lake import Lake

DONE, NOTHING_CAME = 0, 3
SUFFIX = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")

progress_listener: ContextVar[Callable[[str], None] | None] = ContextVar("telling", default=None)
"""Receives progress messages, if a terminal is attached."""


@dataclass(frozen=True)
class PreparedTuning:
    order: Order | LocalOrder
    secrets: Secrets | None


@dataclass(frozen=True, slots=True)
class TuningOutcome:
    base: str
    model: str | None
    """Model name for scenarios; None if there is none, or if it must be deployed first."""
    state: str
    why: str | None
    folder: str
    """Location of its files and its card."""
    how: str
    """How to use it, in a sentence."""

    @property
    def exit_code(self) -> int:
        return DONE if self.state == SUCCEEDED else NOTHING_CAME


def prepare_tuning(asked: TuningOptions, secrets: Secrets | None = None) -> PreparedTuning:
    """Checked order; raises UserError with all problems, and sends and writes nothing."""
    catalog = load_catalog()
    mistakes: list[Problem] = []
    target = made = None
    try:
        target = None if asked.local else _target(asked.model, catalog, secrets)
    except UserError as unknown:
        mistakes.extend(unknown.mistakes)
    try:
        made = prepare_dataset(asked.variant, asked.spoken, asked.seed, catalog)
    except UserError as poor:
        mistakes.extend(poor.mistakes)
    mistakes.extend(_problems(asked))
    if mistakes or made is None:
        raise UserError(mistakes)
    order = _local(asked, made) if target is None else _order(asked, target, made)
    return PreparedTuning(order, secrets)


def prepare_dataset(
    variant: Variant, languages: Sequence[str], seed: int, catalog: Catalog | None = None
) -> Dataset:
    """Dataset to tune on; raises UserError if a language is missing or there is too little data."""
    made = dataset(catalog or load_catalog(), variant, languages, seed)
    if found := find_flaws(made):
        raise UserError(found)
    return made


def write_files(made: Dataset, out: Path, *, force: bool) -> list[Path]:
    """Writes a dataset's files; raises UserError if one exists without `force`."""
    contents = {TRAIN: made.train, VALIDATION: made.validation, "dataset.json": as_json(made.card)}
    there = [out / name for name in contents if (out / name).exists()]
    if there and not force:
        raise UserError(
            Problem(f"`{path}` exists", "--out", "name another directory, or use --force") for path in there
        )
    for name, content in contents.items():
        with storing(out / name), replace_atomically(out / name) as partial:
            partial.write_bytes(content)
    return [out / name for name in contents]


def outcome(order: Order, job: Job, folder: Path) -> TuningOutcome:
    """Outcome of an order at a provider."""
    named, how = None, "the same command tries it anew"
    if job.state == SUCCEEDED:
        named, how = _name_result(order.target, job.result_model or "")
    return TuningOutcome(order.target.model, named, job.state, job.error_message, str(folder), how)


def _name_result(target: Target, result: str) -> tuple[str | None, str]:
    if target.connector == "azure":
        return None, f"deploy `{result}` at Azure, then name it as `{target.provider}/<deployment>`"
    named = f"{target.provider}/{result}"
    return named, f"name it wherever models are named: `--model {named}`"


def local_outcome(order: LocalOrder, folder: Path) -> TuningOutcome:
    named = f"local/{folder}"
    how = f"name it wherever models are named: `--model {named}`"
    return TuningOutcome(order.base, named, SUCCEEDED, None, str(folder), how)


def _target(model: str, catalog: Catalog, secrets: Secrets | None) -> Target:
    target = catalog.target(model)
    check_tunable(target)
    if missing := missing_keys([target], secrets):
        raise UserError(missing)
    return target


def _problems(asked: TuningOptions) -> list[Problem]:
    found = missing_packages() if asked.local else []
    if asked.suffix is not None and not SUFFIX.fullmatch(asked.suffix):
        remedy = "write 1 to 40 lower-case letters, digits and dashes"
        found.append(Problem(f"`{asked.suffix}` cannot be part of a model's name", "--suffix", remedy))
    return found


def _order(asked: TuningOptions, target: Target, made: Dataset) -> Order:
    epochs = asked.epochs or EPOCHS[asked.variant]
    hyperparameters = Hyperparameters(epochs, asked.batch_size, asked.learning_rate)
    return Order(target, made, hyperparameters, asked.suffix or f"biasgrid-{asked.variant}")


def _local(asked: TuningOptions, made: Dataset) -> LocalOrder:
    chosen: dict[str, Any] = {"epochs": asked.epochs or LOCAL_EPOCHS[asked.variant]}
    if asked.learning_rate is not None:
        chosen["learning_rate"] = asked.learning_rate
    if asked.batch_size is not None:
        chosen["batch_size"] = asked.batch_size
    return LocalOrder(asked.model, made, Recipe(**chosen), asked.suffix or f"biasgrid-{asked.variant}")


def confirm(order: Order | LocalOrder, lake: Lake, *, yes: bool) -> None:
    """Prints the training size and asks for confirmation if it is expensive; raises Declined if refused."""
    job = None if isinstance(order, LocalOrder) else find_open_job(lake, order.id)
    if job is not None:
        done = job.state == SUCCEEDED
        typer.echo(
            f"{job.model}: this order {'is done' if done else 'is under way'}, and is not sent again", err=True
        )
        return
    typer.echo(describe_order(order), err=True)
    ask_to_go_on(None if isinstance(order, LocalOrder) else _confirmation_question(order), yes=yes)


def describe_order(order: Order | LocalOrder) -> str:
    """In one line: `openai/gpt-4o-mini: 200 examples × 4 epochs, about 143,000 tokens, price unknown`."""
    dataset_card = order.dataset.card
    if isinstance(order, LocalOrder):
        return f"{order.base}: {dataset_card['train']:,} examples × {order.recipe.epochs} epochs, on this machine"
    epochs = order.hyperparameters.n_epochs
    cost = "price unknown" if order.cost_usd is None else f"about {dollars(order.cost_usd)}"
    examples = f"{dataset_card['train']:,} examples × {epochs} epochs, about {order.tokens:,} tokens"
    return f"{order.target.model}: {examples}, {cost}"


def _confirmation_question(order: Order) -> str | None:
    """Text to confirm; None if the cost is small."""
    cost = order.cost_usd
    if cost is None:
        return f"What training on {order.tokens:,} tokens costs is unknown (`training` under its prices)."
    return f"This is expected to cost about {dollars(cost)}." if cost > threshold() else None
