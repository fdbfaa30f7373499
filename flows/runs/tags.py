"""Tags of flow and task runs in the Prefect UI."""

from __future__ import annotations

from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.runtime import flow_run

from biasgrid.catalogs.scenario.references import Resolved
from biasgrid.catalogs.scenario.scenario import ResolvedScenario


async def tag(run_id: str, resolved: Resolved, part: str | None = None) -> None:
    """Adds tags of run, part, models, concerns, languages and requirements, and keeps the deployment's tags."""
    asked = resolved.requirements if isinstance(resolved, ResolvedScenario) else ()
    requirements = [f"requirement:{requirement.name}" for requirement in asked]
    about = [*sorted(resolved.concerns), *sorted(resolved.languages)]
    own = [*run_tags(run_id, part), *resolved.targets, *about, *requirements]
    async with get_client() as client:
        await client.update_flow_run(UUID(flow_run.id), tags=list(dict.fromkeys([*flow_run.tags, *own])))


def run_tags(run_id: str, part: str | None = None) -> list[str]:
    """Tags shared by the flow runs of one run."""
    return [f"run:{run_id}", *([f"part:{part}"] if part else [])]
