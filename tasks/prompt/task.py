"""Prefect tasks that prompt: one run per group of grid cells, or one per batched model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from uuid import UUID

import httpx
from prefect import get_run_logger, task
from prefect.artifacts import acreate_progress_artifact, aupdate_progress_artifact
from prefect.client.schemas.objects import State
from prefect.states import Failed

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import PollPolicy
from biasgrid.tasks.connectors.client.run_budget import RunBudget
from biasgrid.tasks.connectors.task import RETRIED_TASK, STOPPED, Label, artifact_key
from biasgrid.tasks.connectors.workers import request_slots
from biasgrid.tasks.prompt.batch.jobs import Progress
from biasgrid.tasks.prompt.prompt import CellSlots, prompt_cell, prompt_in_turn
from biasgrid.tasks.prompt.tally import Tally, Watch, tally_answered
from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, slots=True)
class ModelSession:
    """A model as a run prompts it."""

    target: Target
    model_pool: ModelPool
    retries: int


@dataclass(frozen=True, slots=True)
class BatchReports:
    """Receivers of a batched model's progress."""

    watch: Watch | None = None
    waiting: Callable[[str], None] | None = None
    """Called with a message while the provider is out of reach."""
    escaped: Callable[[str], str] = str
    """Escapes a text as Markdown."""


@task(name="prompt", **RETRIED_TASK)
async def prompt(
    lake: Lake,
    run_id: str,
    cell_ids: Sequence[str],
    session: ModelSession,
    under_way: CellSlots | None = None,
    label: Label = Label("prompt"),  # noqa: B008 - frozen
) -> dict[str, Tally] | State[dict[str, Tally]]:
    """Prompts the cases of a model's cells; a retry sends only those without a landed answer."""
    label.attach()
    target, model_pool = session.target, session.model_pool

    async def ask(cell_id: str, slots: CellSlots) -> Tally:
        cases = await asyncio.to_thread(lake.read, "cases", run_id, cell_id)
        return await prompt_cell(lake, cases, target, model_pool, retries=session.retries, under_way=slots)

    slots = under_way or CellSlots(request_slots(target))
    tallies = await tally_answered(lake, run_id, cell_ids, slots.watch)
    left = [cell_id for cell_id in cell_ids if cell_id not in tallies]
    return _as_state(tallies | (await prompt_in_turn(left, slots, ask) if left else {}))


def _as_state(tallies: dict[str, Tally]) -> dict[str, Tally] | State[dict[str, Tally]]:
    """The state of a stopped model, or the tallies."""
    stopped = next((tally.stopped for tally in tallies.values() if tally.stopped), None)
    return Failed(name=STOPPED, message=stopped) if stopped else tallies


@task(name="batch", **RETRIED_TASK)
async def batch(
    lake: Lake,
    run_id: str,
    cell_ids: Sequence[str],
    session: ModelSession,
    reports: BatchReports = BatchReports(),
    label: Label = Label("batch"),  # noqa: B008 - frozen
) -> dict[str, Tally] | State[dict[str, Tally]]:
    """Prompts a model's cells through its provider's batch API; a repeated call collects earlier batches."""
    # imports a provider's SDK
    from biasgrid.tasks.connectors.batch import api
    from biasgrid.tasks.prompt.batch.model import BatchOptions, batch_cells

    label.attach()
    target, model_pool = session.target, session.model_pool
    options = BatchOptions(
        retries=session.retries,
        shares=model_pool.shares,
        run_budget=model_pool.run_budget or RunBudget(),
        watch=reports.watch,
        report=_ProgressArtifact(reports.escaped),
        patience=replace(PollPolicy.from_environment(), notify=reports.waiting or get_run_logger().warning),
    )
    connected = model_pool.open_api(target, api.connect)
    return _as_state(await batch_cells(lake, run_id, cell_ids, target, connected, options))


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
        percent, description = 100.0 * progress.share, self._escaped(str(progress))
        if self._artifact is None:
            key = artifact_key("batches", progress.model)
            self._artifact = await acreate_progress_artifact(percent, key=key, description=description)
        else:
            await aupdate_progress_artifact(self._artifact, percent, description)
