"""Prefect task `generate`: one run per requirement × language, cached in the lake on all inputs of its plan."""

from __future__ import annotations

from prefect import get_run_logger, task
from prefect.client.schemas.objects import State
from prefect.states import Completed

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.entries import Requirement, ScenarioSettings
from biasgrid.tasks.connectors.task import UNCACHED_TASK, Label
from biasgrid.tasks.generate.cases import plan_hash
from biasgrid.tasks.generate.instantiate import instances
from biasgrid.warehouse.storage.lake import Lake


# Prefect's own cache would hold a pickle, which the next run would execute.
@task(name="generate", **UNCACHED_TASK, retries=2, retry_delay_seconds=1)
async def generate(
    requirement: Requirement,
    language: str,
    settings: ScenarioSettings,
    catalog: Catalog,
    lake: Lake,
    label: Label = Label("generate"),  # noqa: B008 - frozen
) -> str | State[str]:
    """Writes the instances of a requirement in one language unless they are stored; returns the plan's hash."""
    label.attach()
    name = plan_hash(requirement, language, settings, catalog)
    if lake.has_plan(name):
        return Completed(name="Cached", data=name)
    if lake.plan_path(name).exists():
        get_run_logger().warning("the stored plan `%s` is damaged: it is generated again", name)
    lake.write_plan(name, instances(requirement, language, catalog, settings))
    return name
