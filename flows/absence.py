"""Shards that nobody takes: said while they wait, since a schedule has nobody who looks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from prefect import get_run_logger
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import WorkPool, WorkPoolStatus
from prefect.exceptions import ObjectNotFound

LOOK_S = 60.0
"""How often is looked whether workers are there; Prefect misses one after a minute and a half."""
WHY = {
    WorkPoolStatus.NOT_READY: "nobody takes shards from the work pool `%s`: `prefect worker start --pool %s`",
    WorkPoolStatus.PAUSED: "the work pool `%s` is paused: `prefect work-pool resume %s`",
}


@asynccontextmanager
async def telling_of_absence(deployment: str, look_s: float = LOOK_S) -> AsyncIterator[None]:
    """Logs where nobody takes what is handed in to a deployment, at once and whenever that changes."""
    looking = asyncio.create_task(_look(deployment, look_s))
    try:
        yield
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def _look(deployment: str, look_s: float) -> None:
    before: WorkPoolStatus | None = None
    async with get_client() as client:
        while True:
            pool = await _pool(client, deployment)
            if pool is not None and pool.status != before:
                _tell(pool)
                before = pool.status
            await asyncio.sleep(look_s)


async def _pool(client: PrefectClient, deployment: str) -> WorkPool | None:
    """None where it cannot be read now, or a deployment is served without one."""
    try:
        name = (await client.read_deployment_by_name(deployment)).work_pool_name
        return await client.read_work_pool(name) if name else None
    except (httpx.HTTPError, ObjectNotFound):
        return None


def _tell(pool: WorkPool) -> None:
    if why := WHY.get(pool.status) if pool.status else None:
        get_run_logger().warning(why, pool.name, pool.name)
