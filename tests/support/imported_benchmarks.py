"""Imported benchmarks, asked of one model and judged."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from biasgrid.catalogs.scenario.scenario import Overrides, resolve
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.evaluate.cell import Evaluation, evaluate_cells
from biasgrid.tasks.generate.cases import land_cases
from biasgrid.tasks.generate.instantiate import instances
from biasgrid.tasks.prompt.prompt import prompt_cell
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import begin_run, record_planned


async def run_scenario(lake: Lake, scenario: Path, model: str) -> None:
    """Asks and judges what a scenario names, without a flow."""
    resolved = resolve(scenario, Overrides(models=[model]))
    catalog, settings = resolved.catalog, resolved.settings
    run = begin_run(lake, resolved.given, resolved.as_json(), catalog.hashes, settings.seed)
    rows = []
    async with ModelPool(catalog) as model_pool:
        for requirement in resolved.requirements:
            frame = instances(requirement, requirement.languages[0], catalog, settings)
            cells = land_cases(lake, run.run_id, frame, resolved.targets.values(), settings, catalog)
            record_planned(lake, run.run_id, cells)
            rules = requirement.model_dump(include={"tolerance", "delta", "refusals", "max_refusals"})
            keys = {"run_id": run.run_id, "evaluation_id": run.run_id, "recorded_at": datetime.now(UTC)}
            named = {"requirement": requirement.name, "concern": requirement.concern}
            rows.append({**keys, **named, **rules, "coverage": settings.coverage})
            for cell in cells.to_dicts():
                cases = lake.read("cases", run.run_id, cell["cell_id"])
                await prompt_cell(lake, cases, resolved.targets[cell["model"]], model_pool, retries=0)
                await evaluate_cells(lake, run.run_id, [cell["cell_id"]], Evaluation(run.run_id, catalog))
    lake.write("criteria", run.run_id, run.run_id, pl.DataFrame(rows))
    run.record(lake, "completed")


def record(file: Path, scenario: Path, answer: Callable[[str], str]) -> str:
    """A model that plays back these answers to items, by the id of their template."""
    resolved = resolve(scenario)
    asked = pl.concat(
        instances(requirement, "en_us", resolved.catalog, resolved.settings)
        for requirement in resolved.requirements
    )
    replies = [answer(name) for name in asked["template"]]
    model = pl.lit("recorded/model").alias("model")
    asked.select(pl.col("text").alias("prompt"), pl.Series("response", replies), model).write_parquet(file)
    return f"replay/{file}"
