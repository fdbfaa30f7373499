"""The main job as a Prefect flow: generate, prompt, evaluate and aggregate over the grid."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

from prefect import flow, get_run_logger
from prefect.runtime import flow_run

from catalogs.scenario import Overrides
from catalogs.schema import Reuse
from flows.artifacts import publish
from flows.cells import cells_stage
from flows.inspecting import inspecting
from flows.outcome import Outcome, outcome
from flows.preparation import open_lake, prepare, prepared_before
from flows.secrets import secret_blocks
from flows.stages import generate_stage, planned_cells
from flows.under_way import under_way
from tasks.aggregate.task import aggregate
from warehouse.expectations.inspector import Inspector
from warehouse.lake import Lake
from warehouse.runs import Run, find


def _run_name() -> str:
    given = flow_run.parameters
    return f"benchmark · {given.get('run_id') or _scenario_name(given.get('scenario'))}"


def _scenario_name(scenario: Any) -> str:
    if isinstance(scenario, str) and not scenario.lstrip().startswith("{"):
        return scenario.replace("\\", "/").rpartition("/")[2].rpartition(".")[0] or scenario
    return "scenario"


@flow(name="benchmark", flow_run_name=_run_name, validate_parameters=True, persist_result=False)
async def benchmark(
    scenario: str | dict[str, Any] | None = None,
    library: str | None = None,
    models: list[str] | None = None,
    data: str | None = None,
    samples: int | None = None,
    seed: int | None = None,
    reuse: Reuse | None = None,
    max_age: str | None = None,
    max_cost: float | None = None,
    max_requests: int | None = None,
    batch: bool | None = None,
    run_id: str | None = None,
    expectations: bool = False,
) -> Outcome:
    """Test models against ethical requirements.

    Args:
        scenario: path of a scenario file (YAML, or LangBiTe's JSON), its content as JSON, or a dict
        library: templates to use in place of the shipped ones: a file or directory, LangBiTe's format included
        models: `provider/model` names to test in place of the scenario's
        data: directory or `s3://bucket/prefix` of lake and warehouse; `BIASGRID_DATA`, else `data`, where absent
        samples: how often each prompt is asked
        seed: chooses the templates and seeds the samples
        reuse: which earlier replies stand in for asking: `run`, `all` or `none`
        max_age: how old a reply of another run may be to stand in, such as `7d`; with `reuse: all`
        max_cost: US dollars that the run may spend
        max_requests: requests that the run may send
        batch: ask through the providers' batch APIs, where they have one
        run_id: goes on with this unfinished run; `scenario` is then not needed
        expectations: the new warehouse replaces the old one only if lake and marts are as expected
    """
    lake: Lake | None = open_lake(data) if run_id else None
    source = find(lake, run_id).scenario_resolved if lake else scenario
    if source is None:
        raise ValueError("name a `scenario`, or the `run_id` to go on with")
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
    prepared = prepared_before() or prepare(source, overrides, secret_blocks())
    lake = lake or open_lake(data)
    async with under_way(lake, prepared, run_id) as grid:
        run = grid.run
        cells = planned_cells(lake, run.run_id)
        if cells.is_empty():
            cells = await generate_stage(grid)
        run.record(lake, "running")
        get_run_logger().info("run %s: %d cases in %d cells", run.run_id, cells["planned"].sum(), cells.height)
        loading = asyncio.create_task(asyncio.to_thread(_load_warehouse))
        with inspecting(expectations) as inspector:
            await cells_stage(grid, cells)
            await loading
            found = await concluded(lake, run, inspector)
        await publish(found, prepared.resolved.name)
    return found


def _load_warehouse() -> None:
    """What aggregating needs takes half a second to load: while models answer, neither before nor after."""
    import_module("warehouse.build")
    from warehouse.blank import blank
    from warehouse.sql_models import load_models

    load_models()
    blank()


async def concluded(lake: Lake, run: Run, inspector: Inspector | None = None) -> Outcome:
    """Aggregate, and read from the marts how the run ended. A kill in between leaves it to be resumed."""
    run.record(lake, "aggregating")
    await aggregate(lake, inspector)
    found = outcome(lake, run.run_id, is_checked=inspector is not None)
    if found.incomplete:  # which only the marts know: recorded, and built once more with it
        run.record(lake, "incomplete")
        await aggregate(lake, inspector)
    else:
        run.record(lake, "completed")
    return found
