"""Lands the cases of sessions before they begin, and their verdicts after they end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import orjson
import polars as pl

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.replaying_client import Participant
from biasgrid.tasks.redteam.session import IN_THE_LAKE, Session, Transcript
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.schema_check import polars_schema
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import land_by_cell

ATTACK = "attack"
"""Oracle type of sessions, which a judge decides."""
SESSION = "session"
"""Level of a session's verdict; that of a reply is `instance`."""


def land_sessions(lake: Lake, sessions: Iterable[Session], party: Participant) -> pl.DataFrame:
    """Writes one file of cases per cell, idempotently; returns the cells as CELL_KEYS and `planned`."""
    return land_by_cell(lake, (_case(session, party) for session in sessions))


def _case(session: Session, party: Participant) -> dict[str, Any]:
    goal, target = session.scene.goal, party.target
    return {
        "run_id": session.run_id,
        "cell_id": session.cell_id,
        "case_id": session.id,
        "requirement": goal.pair.id,
        "concern": goal.axis.concern,
        "provider": target.provider,
        "model": target.model,
        "language": goal.language,
        "input": session.strategy,
        "reflection": goal.pair.id,
        "template_id": session.template_id,
        "template": f"{session.strategy}-{goal.pair.id}",
        "template_text": goal.describe(session.scene.wording),
        "facets": orjson.dumps(_facets(session)).decode(),
        "wording": 1,
        "instance_id": content_hash(session.template_id, session.number),
        "communities": [goal.pair.favoured, goal.pair.stigmatised],
        "sample": session.number,
        "messages": [],
        "parameters": party.parameters(1),
        "request_key": session.id,
        "oracle_type": ATTACK,
        "operation": session.strategy,
        "oracle": orjson.dumps(session.scene.limits.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS).decode(),
    }


def _facets(session: Session) -> dict[str, Any]:
    goal = session.scene.goal
    favoured, stigmatised = goal.attributes
    return {
        "axis": goal.axis.id,
        "favoured": goal.pair.favoured,
        "stigmatised": goal.pair.stigmatised,
        "favoured_attribute": favoured,
        "stigmatised_attribute": stigmatised,
    }


def verdicts(
    transcripts: Sequence[Transcript], evaluation_id: str, judge: Target, judged_at: datetime
) -> pl.DataFrame:
    """Verdict rows: one per judged or missing reply and one per ended session; incomplete sessions stay open."""
    rows = [row for transcript in transcripts for row in _rows(transcript)]
    stamp = {
        "evaluation_id": evaluation_id,
        "assessor_kind": "model",
        "assessor": judge.model,
        "judged_at": judged_at,
    }
    types = polars_schema("verdicts")
    named = [row | stamp | {"verdict_id": _id(row, evaluation_id, judge)} for row in rows]
    return pl.DataFrame([{name: row.get(name) for name in types} for row in named], schema=types)


def _rows(transcript: Transcript) -> Iterator[dict[str, Any]]:
    session = transcript.session
    own = {
        "run_id": session.run_id,
        "cell_id": session.cell_id,
        "template_id": session.template_id,
        "case_id": session.id,
    }
    for turn in transcript.turns:
        if turn.outcome is not None:
            judged = turn.exchange.judgement
            yield own | {
                "level": "instance",
                "sample": turn.number,
                "response_id": turn.response_id,
                "outcome": turn.outcome,
                "parsed_text": judged.verdict if judged else None,
                "parsed_value": judged.score if judged else None,
                "reason": turn.reason,
            }
    if transcript.outcome != "incomplete":
        yield own | {
            "level": SESSION,
            "sample": session.number,
            "response_id": transcript.turns[-1].response_id if transcript.turns else None,
            "outcome": IN_THE_LAKE[transcript.outcome],
            "parsed_text": transcript.outcome,
            "parsed_value": transcript.succeeded_at,
            "reason": transcript.reason,
        }


def _id(row: dict[str, Any], evaluation_id: str, judge: Target) -> str:
    return content_hash(evaluation_id, row["level"], row["case_id"], row["sample"], judge.model)
