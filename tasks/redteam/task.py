"""Prefect task that plays a red team's sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from prefect import task

from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.replaying_client import ConversationCell, ReplayingClient, run_cell
from biasgrid.tasks.connectors.task import UNCACHED_TASK, Label
from biasgrid.tasks.redteam.converse import attack_session
from biasgrid.tasks.redteam.land import verdicts
from biasgrid.tasks.redteam.session import Parties, Session, Transcript
from biasgrid.warehouse.storage.lake import Lake

ATTACK = "attack"


@dataclass(frozen=True, kw_only=True)
class AttackCell(ConversationCell[Session, Transcript]):
    """The sessions of a cell with the same parties; `system` precedes every conversation with the target."""

    parties: Parties
    system: str | None = None


async def attack_cell(lake: Lake, cell: AttackCell, model_pool: ModelPool) -> list[Transcript]:
    """The transcripts of a cell's sessions in input order; each turn lands on arrival."""

    def attack_one(session: Session, client: ReplayingClient) -> Coroutine[Any, Any, Transcript]:
        return attack_session(session, cell.parties, client, cell.system)

    return await run_cell(ATTACK, lake, cell, model_pool, attack_one)


@task(name="attack", **UNCACHED_TASK)
async def attack(
    lake: Lake,
    cell: AttackCell,
    model_pool: ModelPool,
    evaluation_id: str,
    label: Label = Label("attack"),  # noqa: B008 - frozen
) -> None:
    """Plays a cell's sessions and lands their verdicts; a repeated call resumes them."""
    label.attach()
    found = await attack_cell(lake, cell, model_pool)
    rows = verdicts(found, evaluation_id, cell.parties.judge.target, datetime.now(UTC))
    first = cell.planned[0]
    await asyncio.to_thread(lake.write, "verdicts", first.run_id, f"{evaluation_id}-{first.cell_id}", rows)
