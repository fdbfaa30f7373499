"""Runs a red team as a Prefect flow: an attacker converses with the target and a judge evaluates its replies."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import polars as pl
from prefect import get_run_logger
from prefect.utilities.annotations import quote

from biasgrid.catalogs.scenario.targets import ResolvedAttack
from biasgrid.flows.redteam.kind import RED_TEAM, AttackOptions
from biasgrid.flows.redteam.outcome import AttackOutcome
from biasgrid.flows.redteam.prepare import planned
from biasgrid.flows.runs.cells import cell_label
from biasgrid.flows.runs.concurrency import together
from biasgrid.flows.runs.context import Grid, refuse_changed, watching
from biasgrid.flows.runs.driver import kind_flow, run_kind
from biasgrid.flows.runs.lease_pools import LeaseLedger, pools
from biasgrid.flows.runs.leases import Slots
from biasgrid.tasks.connectors.task import Label
from biasgrid.tasks.connectors.workers import request_slots
from biasgrid.tasks.redteam.session import Parties, Session, Transcript
from biasgrid.tasks.redteam.task import AttackCell, attack, plan_sessions
from biasgrid.warehouse.storage.runs import record_planned


@kind_flow(RED_TEAM)
async def redteam(given: AttackOptions) -> AttackOutcome:
    """Try to lead a model or a chatbot into biased replies, by conversations of several strategies.

    Each turn lands the moment it arrives; an interrupted run goes on in mid-conversation. Artifacts tell how it
    ended: `redteam-summary`, `redteam-success`.
    """
    return await run_kind(RED_TEAM, given, _attacked)


async def _attacked(grid: Grid, resolved: ResolvedAttack) -> None:
    """Plans every session, then runs cells in parallel within each target's session limit."""
    lake, run = grid.lake, grid.run
    by_cell = list(planned(run.run_id, resolved))
    refuse_changed(
        grid,
        {session.id for _, sessions in by_cell for session in sessions},
        "a model, an attack or what is told of the target",
    )
    stages = quote([(parties.target, sessions) for parties, sessions in by_cell])
    cells = await plan_sessions(lake, stages, Label("plan", tuple(grid.tags)))
    record_planned(lake, run.run_id, cells)
    run.record(lake, "running")
    get_run_logger().info("run %s: %d sessions in %d cells", run.run_id, cells["planned"].sum(), cells.height)
    if watcher := watching.get():
        watcher.planned(run.run_id, dict(cells.group_by("model").agg(pl.col("planned").sum()).iter_rows()))
    at_once = {model: request_slots(target) for model, target in resolved.targets.items()}
    rows = {cell["cell_id"]: cell for cell in cells.to_dicts()}
    ledger = LeaseLedger.of(lake, run.run_id, grid.part)
    leasing = [target for target in resolved.asked if pools([target])]
    async with Slots(grid.model_pool, leasing, ledger) as slots, slots.taken():
        await together(
            _played(grid, resolved, rows[own[0].cell_id], parties, own, at_once[parties.target.target.model])
            for parties, own in by_cell
        )


async def _played(
    grid: Grid,
    resolved: ResolvedAttack,
    cell: dict[str, Any],
    parties: Parties,
    sessions: list[Session],
    slots: asyncio.Semaphore,
) -> None:
    watcher = watching.get()

    def watch(found: Transcript) -> None:
        if watcher:
            outcome = "failed" if found.outcome in ("error", "incomplete", "attacker failed") else "answered"
            watcher.landed(parties.target.target.model, outcome, None)

    own = AttackCell(
        planned=sessions,
        parties=parties,
        retries=resolved.settings.retries,
        system=resolved.file.target.system,
        slots=slots,
        watch=watch,
    )
    label = cell_label("attack", cell, grid.tags)
    await attack(grid.lake, cast(Any, quote(own)), grid.model_pool, grid.evaluation_id, label)
