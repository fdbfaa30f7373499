"""Prefect task that plans an audit."""

from __future__ import annotations

import asyncio

import polars as pl
from prefect import task

from biasgrid.tasks.audit.cases import land_cases
from biasgrid.tasks.connectors.task import UNCACHED_TASK, Label
from biasgrid.warehouse.storage.lake import Lake


@task(name="plan", **UNCACHED_TASK)
async def plan_audit(lake: Lake, cells: list[pl.DataFrame], label: Label = Label("plan")) -> pl.DataFrame:  # noqa: B008
    """Lands the cases; returns the cells. Never cached, as they are the run's own record."""
    label.attach()
    return await asyncio.to_thread(land_cases, lake, cells)
