"""aggregate as a Prefect task: once per run."""

from __future__ import annotations

import asyncio
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from warehouse.lake import Lake


@task(name="aggregate", cache_policy=NO_CACHE, persist_result=False, retries=1, retry_delay_seconds=2)
async def aggregate(lake: Lake) -> Path:
    """Rebuild the warehouse from the lake; returns the DuckDB file."""
    from warehouse.build import build  # loads DuckDB and an SQL parser: none of a run's start

    return await asyncio.to_thread(build, lake)
