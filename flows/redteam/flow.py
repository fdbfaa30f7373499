"""Runs a red team as a Prefect flow: an attacker converses with the target and a judge evaluates its replies."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import polars as pl
from prefect.utilities.annotations import quote

from biasgrid.catalogs.scenario.targets import ResolvedAttack
from biasgrid.flows.redteam.kind import RED_TEAM, AttackOptions
from biasgrid.flows.redteam.outcome import AttackOutcome
from biasgrid.flows.redteam.prepare import plan_by_cell
from biasgrid.flows.runs.cell_groups import group_label
from biasgrid.flows.runs.cells import begin_cells, run_leased
from biasgrid.flows.runs.context import Grid, progress_listener, refuse_changed
from biasgrid.flows.runs.driver import kind_flow, run_kind
from biasgrid.tasks.connectors.task import Label, plan
from biasgrid.tasks.connectors.workers import request_slots
from biasgrid.tasks.redteam.land import land_sessions
from biasgrid.tasks.redteam.session import Parties, Session, Transcript
from biasgrid.tasks.redteam.task import AttackCell, attack


@kind_flow(RED_TEAM)
async def redteam(given: AttackOptions) -> AttackOutcome:
    """Try to lead a model or a chatbot into biased replies, by conversations of several strategies.

    Each turn lands the moment it arrives; an interrupted run goes on in mid-conversation. Artifacts show how it
    ended: `redteam-summary`, `redteam-success`.
    """
    return await run_kind(RED_TEAM, given, _play)


async def _play(grid: Grid, resolved: ResolvedAttack) -> None:
    """Plans every session, then runs cells in parallel within each target's session limit."""
    lake, run = grid.lake, grid.run
    by_cell = list(plan_by_cell(run.run_id, resolved))
    refuse_changed(
        grid,
        {session.id for _, sessions in by_cell for session in sessions},
        "a model, an attack or the description of the target",
    )

    def land() -> pl.DataFrame:
        return pl.concat(land_sessions(lake, sessions, parties.target) for parties, sessions in by_cell)

    cells = await plan(land, Label("plan", tuple(grid.tags)))
    rows = begin_cells(grid, cells, "sessions")
    if watcher := progress_listener.get():
        watcher.on_plan(run.run_id, dict(cells.group_by("model").agg(pl.col("planned").sum()).iter_rows()))
    at_once = {model: request_slots(target) for model, target in resolved.targets.items()}
    works = (
        _play_cell(grid, resolved, rows[own[0].cell_id], parties, own, at_once[parties.target.target.model])
        for parties, own in by_cell
    )
    await run_leased(grid, works)


async def _play_cell(
    grid: Grid,
    resolved: ResolvedAttack,
    cell: dict[str, Any],
    parties: Parties,
    sessions: list[Session],
    slots: asyncio.Semaphore,
) -> None:
    watcher = progress_listener.get()

    def watch(found: Transcript) -> None:
        if watcher:
            outcome = "failed" if found.outcome in ("error", "incomplete", "attacker failed") else "answered"
            watcher.on_case(parties.target.target.model, outcome, None)

    own = AttackCell(
        planned=sessions,
        parties=parties,
        retries=resolved.settings.retries,
        system=resolved.file.target.system,
        slots=slots,
        watch=watch,
    )
    label = group_label("attack", [cell], grid.tags)
    await attack(grid.lake, cast(Any, quote(own)), grid.model_pool, grid.evaluation_id, label)
