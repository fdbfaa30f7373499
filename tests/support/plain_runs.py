"""Benchmarks without Prefect: planned, prompted and evaluated in this process."""

from datetime import UTC, datetime
from typing import Any

import polars as pl

from biasgrid.catalogs.scenario.scenario import ResolvedScenario
from biasgrid.catalogs.schema.requirements import Requirement
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.evaluate.cell import Evaluation, evaluate_cells
from biasgrid.tasks.generate.cases import land_cases
from biasgrid.tasks.generate.instantiate import instances
from biasgrid.tasks.prompt.prompt import prompt_cell
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import begin_run, record_planned


async def run_benchmark(lake: Lake, resolved: ResolvedScenario) -> str:
    """Runs a scenario and builds the warehouse; the run's id."""
    catalog, settings = resolved.catalog, resolved.settings
    run = begin_run(lake, resolved.given, resolved.as_json(), catalog.hashes, settings.seed)
    async with ModelPool(catalog) as model_pool:
        for requirement in resolved.requirements:
            _land_criteria(lake, run.run_id, requirement, settings.coverage)
            for language in requirement.languages:
                frame = instances(requirement, language, catalog, settings)
                cells = land_cases(lake, run.run_id, frame, resolved.targets.values(), settings, catalog)
                record_planned(lake, run.run_id, cells)
                for cell in cells.to_dicts():
                    await _run_cell(lake, run.run_id, cell, resolved, model_pool)
    run.record(lake, "completed")
    build(lake)
    return run.run_id


def _land_criteria(lake: Lake, run_id: str, requirement: Requirement, coverage: float) -> None:
    rules = requirement.model_dump(include={"concern", "tolerance", "delta", "refusals", "max_refusals"})
    keys = {"run_id": run_id, "evaluation_id": run_id, "requirement": requirement.name}
    row = {**keys, **rules, "coverage": coverage, "recorded_at": datetime.now(UTC)}
    lake.write("criteria", run_id, f"{run_id}-{requirement.name}", pl.DataFrame([row]))


async def _run_cell(
    lake: Lake, run_id: str, cell: dict[str, Any], resolved: ResolvedScenario, model_pool: ModelPool
) -> None:
    cases = lake.read("cases", run_id, cell["cell_id"])
    await prompt_cell(lake, cases, resolved.targets[cell["model"]], model_pool, retries=0)
    await evaluate_cells(lake, run_id, [cell["cell_id"]], Evaluation(run_id, resolved.catalog))
