"""prompt as a Prefect task: one run per grid cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Failed

from catalogs.models import Target
from tasks.connectors.switchboard import Switchboard
from tasks.connectors.task import found_by
from tasks.prompt.prompt import Tally, Watch, prompt_cell
from warehouse.lake import Lake

STOPPED = "Stopped"
"""The state's name of a cell whose model ended on a terminal error; its run goes on without it."""


def _may_pass(_task: object, _run: object, state: State[Any]) -> bool:
    return state.name != STOPPED


@task(
    name="prompt",
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=2,
    retry_delay_seconds=[1, 10],
    retry_condition_fn=_may_pass,
)
async def prompt(
    lake: Lake,
    run_id: str,
    cell_id: str,
    target: Target,
    board: Switchboard,
    retries: int,
    watch: Watch | None = None,
    tags: Sequence[str] = (),
) -> Tally | State[Tally]:
    """Ask a cell's cases. A retry, after a full disk say, asks only what has not landed yet."""
    found_by(tags)
    cases = lake.read("cases", run_id, cell_id)
    tally = await prompt_cell(lake, cases, target, board, retries=retries, watch=watch)
    return Failed(name=STOPPED, message=tally.stopped) if tally.stopped else tally
