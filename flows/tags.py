"""Tags by which the runs of flows and tasks are found in the Prefect UI."""

from __future__ import annotations

from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.runtime import flow_run

from catalogs.scenario import ResolvedScenario


async def tag(run_id: str, resolved: ResolvedScenario, part: str | None = None) -> None:
    """Tag the flow run with its run, which part of it it has, its models, concerns, languages and requirements;
    those of its deployment stay."""
    concerns = {requirement.concern for requirement in resolved.requirements}
    languages = {language for requirement in resolved.requirements for language in requirement.languages}
    requirements = [f"requirement:{requirement.name}" for requirement in resolved.requirements]
    own = [*run_tags(run_id, part), *resolved.targets, *sorted(concerns), *sorted(languages), *requirements]
    async with get_client() as client:
        await client.update_flow_run(UUID(flow_run.id), tags=list(dict.fromkeys([*flow_run.tags, *own])))


def run_tags(run_id: str, part: str | None = None) -> list[str]:
    """By which the flow runs of one run are found."""
    return [f"run:{run_id}", *([f"part:{part}"] if part else [])]
