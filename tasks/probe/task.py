"""Planning a probe as a Prefect task: one run for each of its stages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import polars as pl
from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.connectors.task import NAME, Label
from tasks.probe.cases import Asked, land_cases
from tasks.probe.prompts import Prompt
from warehouse.lake import Lake


@task(name="plan", task_run_name=NAME, cache_policy=NO_CACHE, persist_result=False)
async def plan(
    lake: Lake,
    run_id: str,
    stages: Sequence[tuple[Sequence[Asked], Sequence[Prompt]]],
    label: Label = Label("plan"),  # noqa: B008 - frozen
) -> pl.DataFrame:
    """Land the cases of prompts, of whom each is asked; returns the cells. Never cached: a run's own record."""
    label.attach()
    landed = [await asyncio.to_thread(land_cases, lake, run_id, prompts, asked) for asked, prompts in stages]
    return pl.concat(landed)
