"""Prefect tasks that prompt: one run per grid cell, or one per batched model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

import httpx
from prefect import get_run_logger, task
from prefect.artifacts import acreate_progress_artifact, aupdate_progress_artifact
from prefect.client.schemas.objects import State
from prefect.states import Failed

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import PollPolicy
from biasgrid.tasks.connectors.task import RETRIED_TASK, STOPPED, Label, artifact_key
from biasgrid.tasks.prompt.batch.jobs import Progress
from biasgrid.tasks.prompt.batch.model import batch_cells
from biasgrid.tasks.prompt.prompt import CellSlots, Tally, Watch, prompt_cell
from biasgrid.warehouse.storage.lake import Lake


@task(name="prompt", **RETRIED_TASK)
async def prompt(
    lake: Lake,
    run_id: str,
    cell_id: str,
    target: Target,
    model_pool: ModelPool,
    retries: int,
    watch: Watch | None = None,
    under_way: CellSlots | None = None,
    label: Label = Label("prompt"),  # noqa: B008 - frozen
) -> Tally | State[Tally]:
    """Prompts a cell's cases; a retry sends only those without a landed answer."""
    label.attach()
    cases = await asyncio.to_thread(lake.read, "cases", run_id, cell_id)
    tally = await prompt_cell(lake, cases, target, model_pool, retries=retries, watch=watch, under_way=under_way)
    return Failed(name=STOPPED, message=tally.stopped) if tally.stopped else tally


@task(name="batch", **RETRIED_TASK)
async def batch(
    lake: Lake,
    run_id: str,
    cell_ids: Sequence[str],
    target: Target,
    model_pool: ModelPool,
    retries: int,
    watch: Watch | None = None,
    waiting: Callable[[str], None] | None = None,
    label: Label = Label("batch"),  # noqa: B008 - frozen
    escaped: Callable[[str], str] = str,
) -> dict[str, Tally] | State[dict[str, Tally]]:
    """Prompts a model's cells through its provider's batch API; a repeated call collects earlier batches."""
    # imports OpenAI's SDK
    from biasgrid.tasks.connectors.batch import batches

    label.attach()
    patience = replace(PollPolicy.from_environment(), notify=waiting or get_run_logger().warning)
    tallies = await batch_cells(
        lake,
        run_id,
        cell_ids,
        target,
        model_pool.open_api(target, batches.connect),
        retries=retries,
        shares=model_pool.shares,
        run_budget=model_pool.run_budget,
        watch=watch,
        tell=_ProgressArtifact(escaped),
        patience=patience,
    )
    stopped = next((tally.stopped for tally in tallies.values() if tally.stopped), None)
    return Failed(name=STOPPED, message=stopped) if stopped else tallies


class _ProgressArtifact:
    """Reports changed batch progress of a model to Prefect, as log line and progress artifact."""

    def __init__(self, escaped: Callable[[str], str]) -> None:
        self._escaped = escaped
        self._shown: Progress | None = None
        self._artifact: UUID | None = None

    async def __call__(self, progress: Progress) -> None:
        if progress == self._shown:
            return
        self._shown = progress
        get_run_logger().info("%s", progress)
        with suppress(httpx.HTTPError):  # a server that is briefly unavailable must not end the run
            await self._show(progress)

    async def _show(self, progress: Progress) -> None:
        percent, told = 100.0 * progress.share, self._escaped(str(progress))
        if self._artifact is None:
            key = artifact_key("batches", progress.model)
            self._artifact = await acreate_progress_artifact(percent, key=key, description=told)
        else:
            await aupdate_progress_artifact(self._artifact, percent, told)
