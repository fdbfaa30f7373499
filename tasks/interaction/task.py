"""Plays as rows of `cases`, and the Prefect task that plays them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson
import polars as pl
from prefect import task

from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.replaying_client import ConversationCell, run_cell
from biasgrid.tasks.connectors.task import UNCACHED_TASK, Label
from biasgrid.tasks.interaction.converse import Played, interact
from biasgrid.tasks.interaction.play import Play
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import land_by_cell

INTERACTION = "interaction"


PlayCell = ConversationCell[Play, Played]


async def interact_cell(lake: Lake, cell: PlayCell, model_pool: ModelPool) -> list[Played]:
    """Plays the scenes of a cell; returns the results in input order."""
    return await run_cell(INTERACTION, lake, cell, model_pool, interact)


def land_plays(lake: Lake, plays: Iterable[Play]) -> pl.DataFrame:
    """Writes one file of cases per cell, idempotently; returns the cells as CELL_KEYS and `planned`."""
    return land_by_cell(lake, (case(play) for play in plays))


def case(play: Play) -> dict[str, Any]:
    """A play as a row of `cases`; its messages are stored with its replies."""
    return {
        "run_id": play.run_id,
        "cell_id": play.cell_id,
        "case_id": play.id,
        "requirement": play.domain,
        "concern": play.concern,
        "provider": play.player.partition("/")[0],
        "model": play.player,
        "language": play.wording.id,
        "input": play.setting,
        "reflection": play.mitigation,
        "template_id": play.template_id,
        "template": play.facets["scene"],
        "template_text": play.scene.goal[play.wording.id],
        "facets": orjson.dumps(play.facets).decode(),
        "wording": 1,
        "instance_id": content_hash(play.template_id, play.number),
        "communities": play.facets["groups"],
        "sample": play.number,
        "messages": [],
        "parameters": play.people[0].party.parameters(1),
        "request_key": play.id,
        "oracle_type": "understanding" if play.judged else play.question,
        "operation": play.protocol,
        "oracle": "{}",
    }


@task(name="interact", **UNCACHED_TASK)
async def play_scenes(
    lake: Lake,
    cell: PlayCell,
    model_pool: ModelPool,
    label: Label = Label("interact"),  # noqa: B008 - frozen
) -> None:
    """Plays a cell's scenes; a repeated call resumes them."""
    label.attach()
    await interact_cell(lake, cell, model_pool)
