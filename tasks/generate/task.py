"""Prefect task `generate`: plans of requirements × languages, each cached in the lake on all its inputs."""

from __future__ import annotations

from collections.abc import Sequence

from prefect import get_run_logger, task
from prefect.client.schemas.objects import State
from prefect.states import Completed

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.requirements import Requirement, ScenarioSettings
from biasgrid.tasks.connectors.task import UNCACHED_TASK, Label
from biasgrid.tasks.generate.cases import plan_hash
from biasgrid.tasks.generate.instantiate import instances
from biasgrid.tasks.generate.stored_plans import has_plan, plan_path, write_plan
from biasgrid.warehouse.storage.lake import Lake


# Prefect's own cache would hold a pickle, which the next run would execute.
@task(name="generate", **UNCACHED_TASK, retries=2, retry_delay_seconds=1)
async def generate(
    asked: Sequence[tuple[Requirement, str]],
    settings: ScenarioSettings,
    catalog: Catalog,
    lake: Lake,
    label: Label = Label("generate"),  # noqa: B008 - frozen
) -> list[str] | State[list[str]]:
    """Writes the instances of requirements, each in one language, unless they are stored; returns the plans'
    hashes."""
    label.attach()
    names = [plan_hash(requirement, language, settings, catalog) for requirement, language in asked]
    missing = [place for place, name in enumerate(names) if not has_plan(lake, name)]
    for place in missing:
        requirement, language = asked[place]
        if plan_path(lake, names[place]).exists():
            get_run_logger().warning("the stored plan `%s` is damaged: it is generated again", names[place])
        write_plan(lake, names[place], instances(requirement, language, catalog, settings))
    return names if missing else Completed(name="Cached", data=names)
