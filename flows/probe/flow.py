"""The bias probe as a Prefect flow: names to attributes, then, where bias shows, what the model states."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import polars as pl
from prefect import flow, get_run_logger
from prefect.runtime import flow_run
from prefect.utilities.annotations import quote

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.scenario.targets import ResolvedProbe
from biasgrid.catalogs.schema.target_file import ProbeTest
from biasgrid.flows.benchmark.flow import NOTHING_NAMED, scenario_name
from biasgrid.flows.operations.secrets import secret_blocks
from biasgrid.flows.probe.artifacts import publish
from biasgrid.flows.probe.load_pairs import stereotypes_of
from biasgrid.flows.probe.outcome import ProbeOutcome, ended, probe_outcome
from biasgrid.flows.probe.prepare import (
    PreparedProbe,
    asked_of,
    asking,
    begun_with,
    following,
    follows,
    overrides,
    prepare_probe,
)
from biasgrid.flows.runs.cells import Cell, cells_stage
from biasgrid.flows.runs.concurrency import together
from biasgrid.flows.runs.context import Grid
from biasgrid.flows.runs.finish import concluded
from biasgrid.flows.runs.prepare import open_lake, prepared_before
from biasgrid.flows.runs.session import under_way
from biasgrid.flows.runs.user_errors import in_words
from biasgrid.tasks.aggregate.probe_gate import followed
from biasgrid.tasks.connectors.task import Label
from biasgrid.tasks.evaluate.ready_cells import ReadyCells
from biasgrid.tasks.evaluate.task import read_trials
from biasgrid.tasks.probe.stereotype import Stereotype
from biasgrid.tasks.probe.task import plan
from biasgrid.warehouse.build import load_warehouse
from biasgrid.warehouse.expectations.process import inspecting
from biasgrid.warehouse.storage.runs import find, record_planned


def _run_name() -> str:
    given = flow_run.parameters
    return f"probe · {given.get('run_id') or scenario_name(given.get('target'))}"


@flow(name="probe", flow_run_name=_run_name, validate_parameters=True, persist_result=False)
@in_words
async def probe(
    target: str | dict[str, Any] | None = None,
    models: list[str] | None = None,
    pairs: int | list[str] | None = None,
    tests: list[ProbeTest] | None = None,
    cases: int | None = None,
    detailed: bool | None = None,
    continue_on_refusal: bool | None = None,
    generator: str | None = None,
    max_cost: float | None = None,
    max_requests: int | None = None,
    seed: int | None = None,
    expectations: bool = False,
    data: str | None = None,
    run_id: str | None = None,
) -> ProbeOutcome:
    """Look for stereotypes that models act on, whatever they say when they are asked outright.

    Names are given to attributes in many prompts; a pattern beyond chance is implicit bias. Where it shows, the
    model is asked how far it agrees with the stereotype, with its contrary and with its denial. Artifacts tell how
    it ended: `probe-summary`, `probe-findings`; and what a generator chose: `probe-pairs`.

    Args:
        target: the path of a target file that the worker reads, or its content as JSON
        models: `provider/model` names to probe; None: the target's
        pairs: how many attribute pairs, or which ones; None: as the target has it
        tests: `implicit`, `explicit`, `decision`, `counterfactual`; None: as the target has it
        cases: prompts per pair of the implicit test; None: as the target has it
        detailed: the explicit test follows even where no implicit bias was found
        continue_on_refusal: it follows even where most prompts were refused
        generator: `provider/model` that proposes pairs from what the target file tells; None: as the target has it
        max_cost: US dollars that the run may spend
        max_requests: requests that the run may send
        seed: chooses pairs and names; None: the target's
        expectations: the new warehouse replaces the old one only if lake and marts are as expected
        data: directory or `s3://bucket/prefix` of lake and warehouse; None: `BIASGRID_DATA`, or `data`
        run_id: goes on with this unfinished probe, whatever `target` says
    """
    lake = open_lake(data) if run_id else None
    source = find(lake, run_id).scenario_resolved if lake else target
    if source is None and not models:
        raise UserError(NOTHING_NAMED)
    given = overrides(
        models=models,
        pairs=pairs,
        tests=tests,
        cases=cases,
        detailed=detailed,
        continue_on_refusal=continue_on_refusal,
        generator=generator,
        max_cost=max_cost,
        max_requests=max_requests,
        seed=seed,
    )
    prepared = prepared_before(PreparedProbe) or prepare_probe(source or {"target": {}}, given, secret_blocks())
    lake = lake or open_lake(data)
    async with under_way(lake, prepared, run_id) as grid:
        loading = asyncio.create_task(asyncio.to_thread(load_warehouse))
        with inspecting(expectations) as inspector:
            await _stages(grid, prepared.resolved)
            await loading
            found = await concluded(lake, grid.run, inspector, probe_outcome)
        await publish(found, prepared.resolved.name)
    return ended(found)


async def _stages(grid: Grid, resolved: ResolvedProbe) -> None:
    """What waits for nothing at once, then the explicit test of what was found."""
    stereotypes = await stereotypes_of(grid, resolved)
    prompts = asking(resolved, stereotypes, begun_with(resolved))
    await _stage(grid, [(asked_of(resolved), prompts)], "plan")
    if follows(resolved):
        await _follow(grid, resolved, stereotypes)


async def _follow(grid: Grid, resolved: ResolvedProbe, stereotypes: Sequence[Stereotype]) -> None:
    refused = resolved.file.probe.continue_on_refusal
    found = await asyncio.to_thread(followed, grid.lake, grid.run.run_id, refused=refused)
    stages = [([asked], prompts) for asked, prompts in following(resolved, stereotypes, found)]
    get_run_logger().info("the explicit test follows for %d of the pairs", len(found))
    if stages:
        await _stage(grid, stages, "plan · explicit")


async def _stage(grid: Grid, stages: Any, name: str) -> None:
    """Plan, prompt, and read each cell as soon as it is complete."""
    lake, run = grid.lake, grid.run
    cells = await plan(lake, run.run_id, quote(stages), Label(name, tuple(grid.tags)))
    record_planned(lake, run.run_id, cells)
    run.record(lake, "running")
    get_run_logger().info("run %s: %d cases in %d cells", run.run_id, cells["planned"].sum(), cells.height)
    await read_beside(grid, cells)


async def read_beside(grid: Grid, cells: pl.DataFrame, *, ask: bool = True) -> None:
    """Prompt cells, or take them as they are, and read each as soon as it is complete."""
    ready = ReadyCells()

    async def complete(_: Grid, cell: Cell) -> None:
        ready.add(cell["cell_id"])

    async def prompted() -> None:
        try:
            await cells_stage(grid, cells, ask=ask, judge=False, reader=complete)
        finally:
            ready.close()

    label = Label("read", tuple(grid.tags))
    own = cast(Any, quote(ready))  # Prefect would look into it
    await together(
        [prompted(), read_trials(grid.lake, grid.run.run_id, own, grid.evaluation_id, grid.catalog, label)]
    )
