"""Publishes progress of each model as Prefect artifacts and log lines."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from uuid import UUID

import httpx
from prefect import get_run_logger
from prefect.artifacts import ProgressArtifact, aupdate_progress_artifact
from prefect.client.orchestration import PrefectClient, get_client
from prefect.exceptions import PrefectException
from prefect.logging.loggers import LoggingAdapter

from biasgrid.flows.operations.prefect_server import standing_server
from biasgrid.flows.runs.context import ProgressListener, progress_listener
from biasgrid.flows.terminal.console import dollars
from biasgrid.flows.terminal.markdown import plain
from biasgrid.tasks.connectors.task import artifact_key

EVERY_S = 3.0
"""Update interval of progress artifacts in seconds."""
PATIENCE_S = 5.0
"""Timeout in seconds for the last update."""


@dataclass
class Standing:
    """Progress of one model."""

    model: str
    planned: int
    counts: Counter[str] = field(default_factory=Counter)
    cost_usd: float = 0.0
    stopped: str = ""
    """Reason why the model stopped."""
    shown: str = ""
    artifact: UUID | None = None

    @property
    def percent(self) -> float:
        return min(100.0, 100.0 * self.counts.total() / self.planned) if self.planned else 100.0

    def __str__(self) -> str:
        text = [f"{self.counts[name]:,} {name}" for name in ("answered", "kept", "reused") if self.counts[name]]
        text += [f"{self.counts['failed']:,} failed"] + ([dollars(self.cost_usd)] if self.cost_usd else [])
        stopped = f"; stopped: {self.stopped}" if self.stopped else ""
        return f"{self.model}: {self.counts.total():,} of {self.planned:,} cases: {', '.join(text)}{stopped}"

    async def show(self, client: PrefectClient) -> None:
        """Creates or updates the artifact if something changed."""
        text, percent = plain(self), self.percent
        if self.artifact is None:
            shown = ProgressArtifact(key=artifact_key("progress", self.model), description=text, progress=percent)
            self.artifact = (await shown.acreate(client)).id
        elif text != self.shown:
            await aupdate_progress_artifact(self.artifact, percent, text, client)
        self.shown = text


class ModelProgress:
    """Receives every progress event and forwards it to the previous listener."""

    def __init__(self, log: logging.Logger | LoggingAdapter, listener: ProgressListener | None = None) -> None:
        self.standings: dict[str, Standing] = {}
        self._log, self._next = log, listener

    def on_plan(self, run_id: str, requests: dict[str, int]) -> None:
        self.standings = {model: Standing(model, count) for model, count in requests.items()}
        if self._next:
            self._next.on_plan(run_id, requests)

    def on_case(self, model: str, outcome: str, cost_usd: float | None = None) -> None:
        standing = self.standings[model]
        standing.counts[outcome] += 1
        standing.cost_usd += cost_usd or 0.0
        if standing.counts.total() == standing.planned:
            self._log.info("%s", standing)
        if self._next:
            self._next.on_case(model, outcome, cost_usd)

    def on_stop(self, model: str, why: str) -> None:
        """Reports a stopped model once, although each of its cells reports it."""
        if not self.standings[model].stopped:
            self.standings[model].stopped = why
            self._log.warning("%s is stopped: %s", model, why)
        if self._next:
            self._next.on_stop(model, why)

    def on_wait(self, why: str) -> None:
        if self._next:
            self._next.on_wait(why)


@asynccontextmanager
async def report_progress(run_id: str, planned: Mapping[str, int]) -> AsyncIterator[ModelProgress]:
    """Reports progress of `planned` (cases by model), in artifacts only if a server is configured."""
    progress = ModelProgress(get_run_logger(), progress_listener.get())
    progress.on_plan(run_id, dict(planned))
    before = progress_listener.set(progress)
    over = asyncio.Event()
    showing = asyncio.create_task(_show(progress, over)) if standing_server() else None
    try:
        yield progress
    finally:
        progress_listener.reset(before)
        over.set()
        if showing:
            with suppress(TimeoutError):
                await asyncio.wait_for(showing, PATIENCE_S)


async def _show(progress: ModelProgress, over: asyncio.Event) -> None:
    async with get_client() as client:
        while not over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), EVERY_S)
            for standing in progress.standings.values():
                with suppress(httpx.HTTPError, PrefectException):  # what cannot be shown ends no run
                    await standing.show(client)
