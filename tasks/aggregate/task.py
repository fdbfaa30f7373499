"""The Prefect task that aggregates, once per run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from prefect import task

from biasgrid.tasks.connectors.task import UNCACHED_TASK, Label
from biasgrid.warehouse.expectations.process import Inspector
from biasgrid.warehouse.storage.errors import OldWarehouseStays
from biasgrid.warehouse.storage.lake import Lake


async def _may_help(task: Any, task_run: Any, state: Any) -> bool:
    """Whether a retry may help."""
    try:
        await state.aresult()
    except OldWarehouseStays:
        return False
    except Exception:  # noqa: BLE001 - whatever it is, it is raised once more if it stays
        return True
    return True


@task(name="aggregate", **UNCACHED_TASK, retries=1, retry_delay_seconds=2, retry_condition_fn=_may_help)
async def aggregate(
    lake: Lake,
    inspector: Inspector | None = None,
    label: Label = Label("aggregate"),  # noqa: B008 - frozen
) -> Path:
    """Rebuild the warehouse from the lake; returns the DuckDB file. With an `inspector`, the old one stays unless
    all is as expected."""
    label.attach()
    if inspector is None:
        from biasgrid.warehouse.build.build import build  # loads DuckDB and an SQL parser: none of a run's start

        return await asyncio.to_thread(build, lake)
    from biasgrid.warehouse.expectations.gate import build_inspected

    await asyncio.to_thread(build_inspected, lake, inspector)
    return lake.database
