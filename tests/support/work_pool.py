"""Nights on a Prefect server whose worker is the test: it takes the shards that are handed in, or does not."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import FlowRun, State
from prefect.states import Cancelling, Completed, Crashed, Running

from biasgrid.flows.runs.context import run_tags
from biasgrid.flows.scheduled.shard import shard
from support.processes import PATIENCE_S


@dataclass
class Pool:
    """A work pool without workers, and the shards that wait in it."""

    client: PrefectClient
    deployment: str

    async def handed_in(self, run_id: str) -> list[FlowRun]:
        """The flow runs of a run's shards, oldest first."""
        mine = FlowRunFilter.model_validate({"tags": {"all_": run_tags(run_id)}})
        found = await self.client.read_flow_runs(flow_run_filter=mine)
        shards = [run for run in found if run.name.startswith("shard")]  # the night's own bears the same tag
        return sorted(shards, key=lambda run: run.created)

    async def until(self, run_id: str, holds: Callable[[list[FlowRun]], bool]) -> list[FlowRun]:
        """The shards of a run as soon as they are as wanted."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                if holds(found := await self.handed_in(run_id)):
                    return found
                await asyncio.sleep(0.1)

    async def set(self, run: FlowRun | UUID, *states: State[Any]) -> None:
        """As its worker and its process would."""
        flow_run_id = run if isinstance(run, UUID) else run.id
        for state in states:
            await self.client.set_flow_run_state(flow_run_id, state, force=True)

    async def complete(self, run: FlowRun) -> None:
        await self.set(run, Running(), Completed())

    async def cancel(self, run: FlowRun) -> None:
        """As it looks while the worker has not yet seen that the process is gone."""
        await self.set(run, Running(), Cancelling(), Crashed(message="cancelled by the runtime environment"))


@pytest.fixture
async def pool(prefect_api: str) -> AsyncIterator[Pool]:
    """A deployment of shards without a worker."""
    async with get_client() as client:
        name = "nobodys"
        if not [pool for pool in await client.read_work_pools() if pool.name == name]:
            await client.create_work_pool(WorkPoolCreate(name=name, type="process"))
        flow_id = await client.create_flow(shard)
        await client.create_deployment(
            flow_id=flow_id, name="nobodys", work_pool_name=name, enforce_parameter_schema=False
        )
        yield Pool(client, "shard/nobodys")
