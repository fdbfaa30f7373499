"""Runs batches as one Prefect task per batched model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prefect.client.schemas.objects import State

from biasgrid.catalogs.schema.models import Target
from biasgrid.flows.runs.context import teller, watching
from biasgrid.flows.runs.tags import run_tags
from biasgrid.flows.terminal.markdown import plain
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.task import STOPPED, Label
from biasgrid.tasks.prompt.batch.jobs import requests_waiting
from biasgrid.tasks.prompt.prompt import Watch
from biasgrid.tasks.prompt.task import batch
from biasgrid.warehouse.storage.lake import Lake


async def batch_model(
    lake: Lake,
    run_id: str,
    target: Target,
    model_pool: ModelPool,
    cell_ids: Sequence[str],
    *,
    retries: int,
    watch: Watch | None = None,
) -> None:
    """Processes one model's cells in batches until all replies and events are stored; marks stopped cells."""
    label = Label(f"batch · {target.model.partition('/')[2]}", (target.model, *run_tags(run_id)))
    state: State[Any] = await batch(  # type: ignore[misc]
        lake, run_id, list(cell_ids), target, model_pool, retries, watch, teller(), label, plain, return_state=True
    )
    if state.name == STOPPED:
        if watcher := watching.get():
            watcher.stopped(target.model, state.message or "")
    elif not state.is_completed():
        await state.aresult()


def how_batches_go_on(lake: Lake, run_id: str) -> str | None:
    """Status message of batches at the provider for an interrupted run; None if there are none."""
    waiting = requests_waiting(lake, run_id)
    if not waiting:
        return None
    return (
        f"{waiting:,} requests are in batches that go on at the provider: `biasgrid resume {run_id}` collects them"
    )
