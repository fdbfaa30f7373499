"""The main job as a Prefect flow: generate, prompt, evaluate and aggregate over the grid."""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

import polars as pl
from prefect import flow, get_run_logger
from prefect.runtime import flow_run
from prefect.states import Completed

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.scenario.scenario import Overrides
from biasgrid.catalogs.schema.entries import Reuse
from biasgrid.flows.benchmark.artifacts import publish
from biasgrid.flows.benchmark.summary import counted
from biasgrid.flows.benchmark.trend_chart import publish_pictures
from biasgrid.flows.operations.secrets import secret_blocks
from biasgrid.flows.runs.cells import cells_stage
from biasgrid.flows.runs.context import generate_stage
from biasgrid.flows.runs.outcome import Outcome, outcome
from biasgrid.flows.runs.prepare import Prepared, open_lake, prepare, prepared_before
from biasgrid.flows.runs.session import under_way
from biasgrid.flows.runs.tags import run_tags
from biasgrid.flows.runs.user_errors import in_words
from biasgrid.tasks.aggregate.task import aggregate
from biasgrid.tasks.connectors.task import Label
from biasgrid.warehouse.build import load_warehouse
from biasgrid.warehouse.expectations.process import Inspector, inspecting
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, find, planned_cells

NOTHING_NAMED = Problem("nothing is named to run", "scenario", "name a `scenario`, or the `run_id` to go on with")


def _run_name() -> str:
    given = flow_run.parameters
    return f"benchmark · {given.get('run_id') or scenario_name(given.get('scenario'))}"


def scenario_name(scenario: Any) -> str:
    """Of what was given: a file's name without folder and ending."""
    if isinstance(scenario, str) and not scenario.lstrip().startswith("{"):
        return scenario.replace("\\", "/").rpartition("/")[2].rpartition(".")[0] or scenario
    return "scenario"


@flow(name="benchmark", flow_run_name=_run_name, validate_parameters=True, persist_result=False)
@in_words
async def benchmark(
    scenario: str | dict[str, Any] | None = None,
    models: list[str] | None = None,
    max_cost: float | None = None,
    max_requests: int | None = None,
    samples: int | None = None,
    seed: int | None = None,
    reuse: Reuse | None = None,
    max_age: str | None = None,
    batch: bool | None = None,
    library: str | None = None,
    expectations: bool = False,
    pictures: bool = False,
    data: str | None = None,
    run_id: str | None = None,
) -> Outcome:
    """Test models against ethical requirements, now and in this one process.

    Each cell of the grid model × requirement × language × input × reflection is **prompted**, its replies are
    **evaluated**, and all verdicts are **aggregated** into the warehouse. Artifacts tell how it ended: `summary`,
    `findings`, and beside earlier runs `regressions` and `trend`.

    Args:
        scenario: the name of one that comes along (`starter`, `full`, …), the path of a scenario file that the
            worker reads (YAML, or LangBiTe's JSON), or its content as JSON
        models: `provider/model` names to test, such as `openai/gpt-4o-mini`; None: the scenario's
        max_cost: US dollars that the run may spend; None: the scenario's cap, or none
        max_requests: requests that the run may send; None: the scenario's cap, or none
        samples: how often each prompt is asked; None: as the scenario has it
        seed: chooses the templates and seeds the samples; None: the scenario's
        reuse: earlier replies that stand in for asking: of this `run` alone, when it goes on; of `all` runs;
            `none`. None: as the scenario has it, mostly `run`
        max_age: with `reuse: all`, how old a reply of another run may be, such as `7d`; None: of any age
        batch: ask through the providers' batch APIs, for less money and later; None: as the scenario has it
        library: templates in place of the shipped ones: a file or directory, LangBiTe's format included
        expectations: the new warehouse replaces the old one only if lake and marts are as expected
        pictures: the artifact `pictures`: pass rates, the grid, communities and trend, drawn in some seconds
        data: directory or `s3://bucket/prefix` of lake and warehouse; None: `BIASGRID_DATA`, or `data`
        run_id: goes on with this unfinished run, whatever `scenario` says
    """
    lake: Lake | None = open_lake(data) if run_id else None
    source = find(lake, run_id).scenario_resolved if lake else scenario
    if source is None:
        raise UserError(NOTHING_NAMED)
    overrides = Overrides(
        library=library,
        models=models or (),
        samples=samples,
        seed=seed,
        reuse=reuse,
        max_age=max_age,
        max_cost=max_cost,
        max_requests=max_requests,
        batch=batch,
    )
    prepared = prepared_before(Prepared) or prepare(source, overrides, secret_blocks())
    lake = lake or open_lake(data)
    async with under_way(lake, prepared, run_id) as grid:
        run = grid.run
        cells = planned_cells(lake, run.run_id)
        if cells.is_empty():
            cells = await generate_stage(grid)
        run.record(lake, "running")
        get_run_logger().info("%s", begun(run.run_id, cells))
        loading = asyncio.create_task(asyncio.to_thread(load_warehouse))
        with inspecting(expectations) as inspector:
            await cells_stage(grid, cells)
            await loading
            found = await concluded(lake, run, inspector)
        await publish(lake, found, prepared.resolved.name)
        if pictures:
            await publish_pictures(lake, run.run_id, prepared.resolved.name)
    return ended(found)


def begun(run_id: str, cells: pl.DataFrame) -> str:
    """What is before a run, for its log."""
    cases, models = cells["planned"].sum(), cells["model"].n_unique()
    return f"run {run_id}: {cases:,} cases in {cells.height:,} cells, of {models:,} model{'s'[: models > 1]}"


async def concluded(lake: Lake, run: Run, inspector: Inspector | None = None, *, is_whole: bool = True) -> Outcome:
    """Aggregate, and read from the marts how the run ended. A kill in between leaves it to be resumed, and so does
    what is not whole: some of it nobody came to ask."""
    run.record(lake, "aggregating" if is_whole else "interrupted")
    await aggregated(lake, run.run_id, inspector)
    found = outcome(lake, run.run_id, is_checked=inspector is not None)
    if not is_whole:
        warn_of_gaps(found)
        return found
    if found.incomplete:  # which only the marts know: recorded, and built once more with it
        run.record(lake, "incomplete")
        await aggregated(lake, run.run_id, inspector, "aggregate · marked as incomplete")
    else:
        run.record(lake, "completed")
    warn_of_gaps(found)
    return found


async def aggregated(lake: Lake, run_id: str, inspector: Inspector | None, name: str = "aggregate") -> None:
    """The warehouse, built anew; told in the log, with its seconds."""
    started = time.monotonic()
    await aggregate(lake, inspector, Label(name, tuple(run_tags(run_id))))
    checked = "built and checked" if inspector else "built"
    get_run_logger().info("the warehouse is %s in %.1f s", checked, time.monotonic() - started)


def ended(found: Outcome) -> Outcome:
    """What a flow returns whose result is `found`: its state says in the UI how the run ended."""
    return cast(Outcome, Completed(message=_told(found), data=found))


def warn_of_gaps(found: Outcome) -> None:
    """That something lacks, and what most of it failed on."""
    if found.incomplete:
        why = f"; {found.failures[0][1]:,} × {found.failures[0][0]}" if found.failures else ""
        get_run_logger().warning("%s%s", _told(found), why)


def _told(found: Outcome) -> str:
    return f"run {found.run_id}: {counted(found)}{', incomplete' if found.incomplete else ''}"
