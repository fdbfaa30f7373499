"""Prefect task `generate`: one run per requirement × language, cached on all inputs of its plan."""

from __future__ import annotations

from typing import Any

from prefect import task
from prefect.cache_policies import CachePolicy

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.entries import Requirement, ScenarioSettings
from biasgrid.tasks.connectors.task import NAME, Label
from biasgrid.tasks.generate.cases import plan_hash
from biasgrid.tasks.generate.instantiate import instances
from biasgrid.warehouse.storage.lake import Lake


def _plan_key(_context: object, inputs: dict[str, Any]) -> str:
    hashed = plan_hash(inputs["requirement"], inputs["language"], inputs["settings"], inputs["catalog"])
    return f"biasgrid-plan-{hashed}"


PLAN = CachePolicy.from_cache_key_fn(_plan_key)
"""Cache key: the plan's content hash, which includes the version of the generating code."""


@task(
    name="generate", task_run_name=NAME, cache_policy=PLAN, persist_result=True, retries=2, retry_delay_seconds=1
)
async def generate(
    requirement: Requirement,
    language: str,
    settings: ScenarioSettings,
    catalog: Catalog,
    lake: Lake,
    label: Label = Label("generate"),  # noqa: B008 - frozen
) -> str:
    """Writes the instances of a requirement in one language into the lake; returns the plan's hash."""
    label.attach()
    name = plan_hash(requirement, language, settings, catalog)
    lake.write_plan(name, instances(requirement, language, catalog, settings))
    return name
