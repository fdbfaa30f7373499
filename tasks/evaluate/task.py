"""evaluate as a Prefect task: one run per grid cell, as soon as it is prompted."""

from __future__ import annotations

from prefect import task
from prefect.cache_policies import NO_CACHE

from catalogs.catalog import Catalog
from catalogs.models import Target
from tasks.connectors.switchboard import Switchboard
from tasks.connectors.task import NAME, Label
from tasks.evaluate.cell import evaluate_cell
from warehouse.lake import Lake


@task(
    name="evaluate",
    task_run_name=NAME,
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=2,
    retry_delay_seconds=[1, 10],
)
async def evaluate(
    lake: Lake,
    run_id: str,
    cell_id: str,
    evaluation_id: str,
    catalog: Catalog,
    board: Switchboard | None = None,
    judge: Target | None = None,
    retries: int = 3,
    label: Label = Label("evaluate"),  # noqa: B008 - frozen
) -> int:
    """Judge a cell's replies and land the verdicts; returns how many."""
    label.attach()
    return await evaluate_cell(lake, run_id, cell_id, evaluation_id, catalog, board, judge, retries)
