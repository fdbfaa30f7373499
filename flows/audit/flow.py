"""Runs an audit as a Prefect flow: the same documents with matched identities, then what was decided."""

from __future__ import annotations

import asyncio
from functools import partial

import polars as pl

from biasgrid.catalogs.scenario.audit import ResolvedAudit
from biasgrid.flows.audit.kind import AUDIT, AuditOptions
from biasgrid.flows.audit.outcome import AuditOutcome
from biasgrid.flows.runs.cell_groups import Group, cell_ids_of, group_label
from biasgrid.flows.runs.cells import begin_cells, cells_stage
from biasgrid.flows.runs.context import Grid, refuse_changed
from biasgrid.flows.runs.driver import kind_flow, run_kind
from biasgrid.tasks.audit.cases import plan_cases
from biasgrid.tasks.audit.land import land_cases
from biasgrid.tasks.connectors.task import Label, plan
from biasgrid.tasks.evaluate.cell import Evaluation
from biasgrid.tasks.evaluate.evaluate import judge_decisions
from biasgrid.tasks.evaluate.task import read_replies


@kind_flow(AUDIT)
async def audit(given: AuditOptions) -> AuditOutcome:
    """See whether a system decides differently about the same documents when only the identity differs.

    It is no audit under Local Law 144 or any statute. Artifacts show how it ended: `audit-summary`,
    `audit-shifts`.
    """
    return await run_kind(AUDIT, given, _decide)


async def _decide(grid: Grid, resolved: ResolvedAudit) -> None:
    """Plans all prompts, sends them, and reads each cell as soon as it is complete."""
    cells = await asyncio.to_thread(lambda: list(plan_cases(grid.run.run_id, resolved)))
    cases = {case for cell in cells for case in cell["case_id"]}
    refuse_changed(grid, cases, "a model, a document or an identity")
    planned = await plan(partial(land_cases, grid.lake, cells), Label("plan", tuple(grid.tags)))
    begin_cells(grid, planned, "decisions")
    await cells_stage(grid, planned, judge=False, reader=_read)


async def _read(grid: Grid, group: Group) -> None:
    own, label = Evaluation(grid.evaluation_id, grid.catalog), group_label("read", group, grid.tags)
    await read_replies(grid.lake, grid.run.run_id, cell_ids_of(group), own, judge_decisions, label)


async def read_stored(grid: Grid, cells: pl.DataFrame) -> None:
    """Reads stored replies again."""
    await cells_stage(grid, cells, ask=False, judge=False, reader=_read)
