"""The red team as a Prefect flow: an attacker converses with the target, a judge judges what it says."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import polars as pl
from prefect import flow, get_run_logger
from prefect.runtime import flow_run
from prefect.utilities.annotations import quote

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.scenario.attack_target import ResolvedAttack
from biasgrid.catalogs.schema.attacks import StrategyName
from biasgrid.flows.benchmark.flow import NOTHING_NAMED, scenario_name
from biasgrid.flows.operations.secrets import secret_blocks
from biasgrid.flows.rate_limits.ledger import LeaseLedger
from biasgrid.flows.rate_limits.pools import pools
from biasgrid.flows.rate_limits.slots import Slots
from biasgrid.flows.redteam.artifacts import publish
from biasgrid.flows.redteam.outcome import AttackOutcome, attack_outcome, ended
from biasgrid.flows.redteam.prepare import PreparedAttack, overrides, planned, prepare_attack
from biasgrid.flows.runs.cells import cell_label
from biasgrid.flows.runs.concurrency import together
from biasgrid.flows.runs.context import Grid, refuse_changed, watching
from biasgrid.flows.runs.finish import concluded
from biasgrid.flows.runs.prepare import open_lake, prepared_before
from biasgrid.flows.runs.session import under_way
from biasgrid.flows.runs.user_errors import in_words
from biasgrid.tasks.connectors.task import Label
from biasgrid.tasks.connectors.workers import hands
from biasgrid.tasks.redteam.session import Parties, Session, Transcript
from biasgrid.tasks.redteam.task import attack, plan_sessions
from biasgrid.warehouse.build import load_warehouse
from biasgrid.warehouse.expectations.process import inspecting
from biasgrid.warehouse.storage.runs import find, record_planned


def _run_name() -> str:
    given = flow_run.parameters
    return f"redteam · {given.get('run_id') or scenario_name(given.get('target'))}"


@flow(name="redteam", flow_run_name=_run_name, validate_parameters=True, persist_result=False)
@in_words
async def redteam(
    target: str | dict[str, Any] | None = None,
    models: list[str] | None = None,
    strategies: list[StrategyName] | None = None,
    attacker: str | None = None,
    judge: str | None = None,
    pairs: int | list[str] | None = None,
    sessions: int | None = None,
    turns: int | None = None,
    max_cost: float | None = None,
    max_requests: int | None = None,
    seed: int | None = None,
    expectations: bool = False,
    data: str | None = None,
    run_id: str | None = None,
) -> AttackOutcome:
    """Try to lead a model or a chatbot into biased replies, by conversations of several strategies.

    Each turn lands the moment it arrives; an interrupted run goes on in mid-conversation. Artifacts tell how it
    ended: `redteam-summary`, `redteam-success`.

    Args:
        target: the path of a target file that the worker reads, or its content as JSON
        models: `provider/model` names to attack; None: the target's
        strategies: one_shot, direct, separated, selection, implicit_separated, crescendo, persona; None: as the
            target has it
        attacker: the model that writes messages; None: the target's
        judge: the model that judges replies; None: the target's
        pairs: how many attribute pairs, or which ones; None: as the target has it
        sessions: conversations per pair and strategy
        turns: most messages of a conversation that lasts
        max_cost: US dollars that the run may spend
        max_requests: requests that the run may send
        seed: chooses pairs, names and openings; None: the target's
        expectations: the new warehouse replaces the old one only if lake and marts are as expected
        data: directory or `s3://bucket/prefix` of lake and warehouse; None: `BIASGRID_DATA`, or `data`
        run_id: goes on with this unfinished red team, whatever `target` says
    """
    lake = open_lake(data) if run_id else None
    source = find(lake, run_id).scenario_resolved if lake else target
    if source is None and not models:
        raise UserError(NOTHING_NAMED)
    given = overrides(
        models=models,
        strategies=strategies,
        attacker=attacker,
        judge=judge,
        pairs=pairs,
        sessions=sessions,
        turns=turns,
        max_cost=max_cost,
        max_requests=max_requests,
        seed=seed,
    )
    prepared = prepared_before(PreparedAttack) or prepare_attack(source or {"target": {}}, given, secret_blocks())
    lake = lake or open_lake(data)
    async with under_way(lake, prepared, run_id) as grid:
        loading = asyncio.create_task(asyncio.to_thread(load_warehouse))
        with inspecting(expectations) as inspector:
            await _attacked(grid, prepared.resolved)
            await loading
            found = await concluded(lake, grid.run, inspector, attack_outcome)
        await publish(found, prepared.resolved.name)
    return ended(found)


async def _attacked(grid: Grid, resolved: ResolvedAttack) -> None:
    """Plan every session, then play them: cells side by side, as many sessions as their target takes."""
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
    hand = {model: hands(target) for model, target in resolved.targets.items()}
    rows = {cell["cell_id"]: cell for cell in cells.to_dicts()}
    ledger = LeaseLedger.of(lake, run.run_id, grid.part)
    leasing = [target for target in resolved.asked if pools([target])]
    async with Slots(grid.model_pool, leasing, ledger) as slots, slots.taken():
        await together(
            _played(grid, resolved, rows[own[0].cell_id], parties, own, hand[parties.target.target.model])
            for parties, own in by_cell
        )


async def _played(
    grid: Grid,
    resolved: ResolvedAttack,
    cell: dict[str, Any],
    parties: Parties,
    sessions: list[Session],
    hand: asyncio.Semaphore,
) -> None:
    watcher = watching.get()

    def watch(found: Transcript) -> None:
        if watcher:
            outcome = "failed" if found.outcome in ("error", "incomplete", "attacker failed") else "answered"
            watcher.landed(parties.target.target.model, outcome, None)

    await attack(
        grid.lake,
        cast(Any, quote(sessions)),
        cast(Any, quote(parties)),
        grid.model_pool,
        grid.evaluation_id,
        resolved.settings.retries,
        resolved.file.target.system,
        hand,
        watch,
        cell_label("attack", cell, grid.tags),
    )
