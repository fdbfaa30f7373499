"""Who asked what of a night, for its summary: its shards' flow runs, with links."""

from __future__ import annotations

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowFilter, FlowFilterName, FlowRunFilter, FlowRunFilterTags
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.sorting import FlowRunSort
from prefect.settings import get_current_settings

from flows.markdown import Markup
from flows.tags import run_tags


async def shard_runs(run_id: str) -> list[tuple[str, str, str]]:
    """A row for each time that a shard was handed out, in that order: its name, how it ended, a link."""
    async with get_client() as client:
        found = await client.read_flow_runs(
            flow_filter=FlowFilter(name=FlowFilterName(any_=["shard"])),
            flow_run_filter=FlowRunFilter(tags=FlowRunFilterTags(all_=run_tags(run_id))),
            sort=FlowRunSort.START_TIME_ASC,
        )
    return [(run.name, _ended(run), Markup(f"[open]({address(run)})")) for run in found]


def address(run: FlowRun) -> str:
    """In the UI in which it is read, whatever its address; where one is set for people, there."""
    settings = get_current_settings()
    by_api = (settings.api.url or "").removesuffix("/api")
    own = settings.ui_url if settings.ui_url and settings.ui_url != by_api else ""
    return f"{own.rstrip('/')}/runs/flow-run/{run.id}"


def _ended(run: FlowRun) -> str:
    if run.state is None:
        return "–"
    return f"{run.state.name}: {run.state.message}" if run.state.message else str(run.state.name)
