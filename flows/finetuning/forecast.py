"""Prints the size of a fine-tuning job and asks for confirmation."""

from __future__ import annotations

import sys

import typer

from biasgrid.flows.forecast.confirmation import Declined, threshold
from biasgrid.flows.terminal.console import dollars
from biasgrid.tasks.finetuning.jobs import SUCCEEDED, worth_waiting_for
from biasgrid.tasks.finetuning.local import LocalOrder
from biasgrid.tasks.finetuning.order import Order
from biasgrid.warehouse.storage.lake import Lake


def confirm(order: Order | LocalOrder, lake: Lake, *, yes: bool) -> None:
    """Prints the training size and asks for confirmation if it is expensive; raises Declined if refused."""
    job = None if isinstance(order, LocalOrder) else worth_waiting_for(lake, order.id)
    if job is not None:
        done = job.state == SUCCEEDED
        typer.echo(
            f"{job.model}: this order {'is done' if done else 'is under way'}, and is not sent again", err=True
        )
        return
    typer.echo(in_short(order), err=True)
    doubt = None if isinstance(order, LocalOrder) else _doubt(order)
    if doubt is None or yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    try:
        agreed = typer.confirm(f"{doubt} Go on?", err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise Declined


def in_short(order: Order | LocalOrder) -> str:
    """In one line: `openai/gpt-4o-mini: 200 examples × 4 epochs, about 143,000 tokens, price unknown`."""
    told = order.dataset.told
    if isinstance(order, LocalOrder):
        return f"{order.base}: {told['train']:,} examples × {order.recipe.epochs} epochs, on this machine"
    epochs = order.hyperparameters.n_epochs
    cost = "price unknown" if order.cost_usd is None else f"about {dollars(order.cost_usd)}"
    examples = f"{told['train']:,} examples × {epochs} epochs, about {order.tokens:,} tokens"
    return f"{order.target.model}: {examples}, {cost}"


def _doubt(order: Order) -> str | None:
    """Text to confirm; None if the cost is small."""
    cost = order.cost_usd
    if cost is None:
        return f"What training on {order.tokens:,} tokens costs is unknown (`training` under its prices)."
    return f"This is expected to cost about {dollars(cost)}." if cost > threshold() else None
