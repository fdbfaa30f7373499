"""Plays as rows of `cases`, before the first word is said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson
import polars as pl

from tasks.interact.play import Play
from warehouse.identity import content_hash
from warehouse.lake import Lake
from warehouse.planned import land_by_cell


def land_plays(lake: Lake, plays: Iterable[Play]) -> pl.DataFrame:
    """Write the cases of plays, a file a cell. Returns the cells: CELL_KEYS and `planned`. The same plays
    overwrite their own files with the same rows."""
    return land_by_cell(lake, (case(play) for play in plays))


def case(play: Play) -> dict[str, Any]:
    """A play as a row of `cases`: its messages are those of its replies."""
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
        "parameters": play.people[0].party.sent(1),
        "request_key": play.id,
        "oracle_type": "understanding" if play.judged else play.question,
        "operation": play.protocol,
        "oracle": "{}",
    }
