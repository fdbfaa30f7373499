"""The bias probe as a Prefect flow: names to attributes, then, where bias shows, what the model states."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import polars as pl
from prefect import get_run_logger
from prefect.artifacts import acreate_markdown_artifact
from prefect.utilities.annotations import quote

from biasgrid.catalogs.scenario.targets import ResolvedProbe
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.text_safety import excerpt
from biasgrid.flows.probe.kind import PROBE, ProbeOptions
from biasgrid.flows.probe.outcome import ProbeOutcome
from biasgrid.flows.probe.prepare import (
    asked_models,
    catalog_stereotypes,
    first_tests,
    follow_up_prompts,
    has_follow_up,
    list_prompts,
    select_followed,
)
from biasgrid.flows.runs.cell_groups import Group, cell_ids_of
from biasgrid.flows.runs.cells import begin_cells, cells_stage
from biasgrid.flows.runs.context import Grid, pause_reporter
from biasgrid.flows.runs.driver import kind_flow, run_kind
from biasgrid.flows.runs.lease_pools import LeaseLedger
from biasgrid.flows.runs.leases import Slots
from biasgrid.flows.terminal.markdown import plain, table
from biasgrid.tasks.connectors.concurrency import run_concurrently
from biasgrid.tasks.connectors.task import Label, artifact_key, plan
from biasgrid.tasks.evaluate.task import ReadyCells, read_trials
from biasgrid.tasks.probe.cases import Asked, land_cases
from biasgrid.tasks.probe.loader import Loaded
from biasgrid.tasks.probe.prompts import Prompt
from biasgrid.tasks.probe.request import Earlier
from biasgrid.tasks.probe.stereotype import Stereotype
from biasgrid.tasks.probe.task import Load, load
from biasgrid.tasks.prompt.reuse import earliest_arrival


async def stereotypes_of(grid: Grid, resolved: ResolvedProbe) -> list[Stereotype]:
    """Stereotypes by language, identical in a resumed run."""
    if resolved.generator is None:
        return catalog_stereotypes(resolved)
    ledger = LeaseLedger.of(grid.lake, grid.run.run_id, grid.part)
    async with Slots(grid.model_pool, [resolved.generator], ledger) as slots, slots.taken():
        found = await run_concurrently(_load(grid, each) for each in _loads(grid, resolved, resolved.generator))
    await _report_pairs(found, resolved.name, grid.run.run_id)
    return [one for each in found for one in each.stereotypes]


def _loads(grid: Grid, resolved: ResolvedProbe, generator: Target) -> list[Load]:
    run, settings = grid.run, resolved.settings
    earlier = Earlier(earliest_arrival(run.started_at, settings.max_age), run.started_at)
    may_ask = not grid.lake.files("cases", run.run_id)
    return [
        Load(
            run.run_id,
            language,
            resolved.file,
            resolved,
            generator,
            earlier if settings.reuse == "all" else None,
            may_ask,
        )
        for language in dict.fromkeys(resolved.file.target.languages)
    ]


async def _load(grid: Grid, wanted: Load) -> Loaded:
    label = Label(f"load · {wanted.language}", (wanted.generator.model, wanted.language, *grid.tags))
    return await load(grid.lake, cast(Load, quote(wanted)), grid.model_pool, label)


async def _report_pairs(found: Sequence[Loaded], target: str, run_id: str) -> None:
    """Reports the pairs in the log, to the progress listener and as the artifact `probe-pairs`."""
    report = pause_reporter()
    for each in found:
        if each.notice:
            report(each.notice)
    shown = f"{plain(target)}: what run {run_id} asks about"
    await acreate_markdown_artifact(pairs_page(found, target), artifact_key("probe-pairs", target), shown)


ASKED = ("language", "pair", "axis", "favoured", "its attribute", "stigmatised", "its attribute", "why")


def pairs_page(found: Sequence[Loaded], target: str) -> str:
    """Markdown with accepted pairs and rejected proposals with reasons; model output is escaped."""
    asked = [_pair_row(one) for each in found for one in each.stereotypes]
    refused = [(each.language, excerpt(one.text, 300), one.reason) for each in found for one in each.refused]
    notices = [plain(each.notice) for each in found if each.notice]
    parts = [f"# {plain(target)}", *notices, table(ASKED, asked)]
    if refused:
        parts += ["## Proposed and not asked about", table(("language", "proposal", "why not"), refused)]
    return "\n\n".join(parts)


def _pair_row(one: Stereotype) -> tuple[str, ...]:
    sides = (one.favoured, one.stigmatised)
    shown = (text for side in sides for text in (side.words.plural, side.attribute))
    return (one.language, one.pair, one.axis, *shown, one.why or "the catalog's, drawn by the seed")


Stages = Sequence[tuple[Sequence[Asked], Sequence[Prompt]]]


@kind_flow(PROBE)
async def probe(given: ProbeOptions) -> ProbeOutcome:
    """Look for stereotypes that models act on, whatever they say when they are asked outright.

    Names are given to attributes in many prompts; a pattern beyond chance is implicit bias. Where it shows, the
    model is asked how far it agrees with the stereotype, with its contrary and with its denial. Artifacts show how
    it ended: `probe-summary`, `probe-findings`; and what a generator chose: `probe-pairs`.
    """
    return await run_kind(PROBE, given, _stages)


async def _stages(grid: Grid, resolved: ResolvedProbe) -> None:
    """What waits for nothing at once, then the explicit test of what was found."""
    stereotypes = await stereotypes_of(grid, resolved)
    prompts = list_prompts(resolved, stereotypes, first_tests(resolved))
    await _stage(grid, [(asked_models(resolved), prompts)], "plan")
    if has_follow_up(resolved):
        await _follow(grid, resolved, stereotypes)


async def _follow(grid: Grid, resolved: ResolvedProbe, stereotypes: Sequence[Stereotype]) -> None:
    refused = resolved.file.probe.continue_on_refusal
    found = await asyncio.to_thread(select_followed, grid.lake, grid.run.run_id, refused=refused)
    stages = [([asked], prompts) for asked, prompts in follow_up_prompts(resolved, stereotypes, found)]
    get_run_logger().info("the explicit test follows for %d of the pairs", len(found))
    if stages:
        await _stage(grid, stages, "plan · explicit")


async def _stage(grid: Grid, stages: Stages, name: str) -> None:
    """Plan, prompt, and read each cell as soon as it is complete."""
    lake, run = grid.lake, grid.run

    def land() -> pl.DataFrame:
        return pl.concat(land_cases(lake, run.run_id, prompts, asked) for asked, prompts in stages)

    cells = await plan(land, Label(name, tuple(grid.tags)))
    begin_cells(grid, cells, "cases")
    await prompt_and_read(grid, cells)


async def prompt_and_read(grid: Grid, cells: pl.DataFrame, *, ask: bool = True) -> None:
    """Prompt cells, or take them as they are, and read each as soon as it is complete."""
    ready = ReadyCells()

    async def complete(_: Grid, group: Group) -> None:
        for cell_id in cell_ids_of(group):
            ready.add(cell_id)

    async def prompt_all() -> None:
        try:
            await cells_stage(grid, cells, ask=ask, judge=False, reader=complete)
        finally:
            ready.close()

    label = Label("read", tuple(grid.tags))
    own = cast(Any, quote(ready))  # Prefect would look into it
    await run_concurrently(
        [prompt_all(), read_trials(grid.lake, grid.run.run_id, own, grid.evaluation_id, grid.catalog, label)]
    )


async def read_stored(grid: Grid, cells: pl.DataFrame) -> None:
    """Read stored replies again."""
    await prompt_and_read(grid, cells, ask=False)
