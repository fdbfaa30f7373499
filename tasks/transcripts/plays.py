"""Plays of an interaction as transcripts: each reply by round and speaker, with its reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

import duckdb
import polars as pl

from biasgrid.tasks.transcripts.excerpt import LONGEST, Excerpt
from biasgrid.warehouse.build.build import connect, fetch_rows
from biasgrid.warehouse.storage.lake import Lake

Row = Mapping[str, Any]
LOST = ("shared", "unassigned", "invented", "refused", "unreadable", "error")
"""Outcomes of assignments that have no class."""
Place = tuple[str, int, str]
"""Play, turn and speaker of a reply."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a reply was read: `outcome` is its class, why it has none, or if its judgement of bias was correct."""

    outcome: str
    reason: str | None
    given: Sequence[Row] = ()
    """For each task in the order shown: `assigned_to`, `invented_names`, `status`."""
    said: str | None = None
    """present or absent, if implicit bias is to be recognised."""
    verdicts: Sequence[Row] = ()
    """Rows of `verdicts`, the valid one last."""


@dataclass(frozen=True, slots=True)
class Reply:
    turn: int
    round: str
    speaker: str
    group: str | None
    model: str
    text: Excerpt | None
    error: str | None
    response_id: str | None
    asked: Excerpt | None
    """The last message, if the play does not determine it."""
    reading: Reading | None
    """None for replies without assignments."""


@dataclass(frozen=True, slots=True)
class Play:
    """One conversation; `case` is its row of intermediate.int_interaction_plays with the scene's `goal`."""

    case: Row
    replies: Sequence[Reply]

    def rounds(self) -> Iterator[tuple[str, list[Reply]]]:
        """Round ids with their replies in speaking order."""
        for _, own in groupby(self.replies, key=attrgetter("turn")):
            replies = [*own]
            yield replies[0].round, replies

    def read(self) -> list[tuple[str, Counter[str]]]:
        """Number of replies per outcome, for each round with readings."""
        found = [
            (one, Counter(own.reading.outcome for own in replies if own.reading)) for one, replies in self.rounds()
        ]
        return [(one, counts) for one, counts in found if counts]

    @property
    def outcomes(self) -> set[str]:
        """Outcomes of all assignments of the play; `lost` for any without a class."""
        found = {reply.reading.outcome for reply in self.replies if reply.reading}
        return {"lost" if outcome in LOST else outcome for outcome in found}


def plays(lake: Lake, run_id: str, play_ids: Sequence[str]) -> list[Play]:
    """The plays with these ids, in this order. Raises UserError if no warehouse has been built."""
    wanted = list(play_ids)
    landed = lake.scan("cases", run_id).filter(pl.col("case_id").is_in(wanted))
    goals = dict(landed.select("case_id", "template_text").collect().iter_rows())
    with connect(lake) as warehouse:
        cases = {row["play_id"]: row for row in fetch_rows(warehouse, PLAYS, [run_id, wanted]).to_dicts()}
        readings = _readings(warehouse, lake, run_id, wanted)
    replies = _read_replies(lake, run_id, wanted)
    rows = [cases[key] | {"goal": goals[key]} for key in wanted]
    return [Play(case, [*_replies(case, replies, readings)]) for case in rows]


def _replies(case: Row, landed: Mapping[Place, Row], readings: Mapping[Place, Reading]) -> Iterator[Reply]:
    """One reply per landed or read reply, in playing order."""
    for turn, (one, speaker) in enumerate(_speakers(case), 1):
        for name in speaker:
            place = (case["play_id"], turn, name)
            if place in landed or place in readings:
                yield _reply(case, one, place, landed.get(place), readings.get(place))


def _speakers(case: Row) -> Iterator[tuple[str, list[str]]]:
    """Each round with its speakers."""
    people = [person["name"] for person in case["people"] or ()]
    for one in case["rounds"]:
        yield one, ["assistant"] if one in ("alone", "understanding") else people


def _reply(case: Row, one: str, place: Place, row: Row | None, reading: Reading | None) -> Reply:
    person = next((known for known in case["people"] or () if known["name"] == place[2]), None)
    found = row or {}
    text = found.get("text")
    return Reply(
        turn=place[1],
        round=one,
        speaker=place[2],
        group=person["group"] if person else None,
        model=found.get("model") or (person["model"] if person else case["model"]),
        text=None if text is None else Excerpt(text, found["signs"]),
        error=None if text is not None else _why(row),
        response_id=found.get("response_id"),
        asked=Excerpt.of(found.get("asked")) if case["setting"] == "understanding" else None,
        reading=reading,
    )


def _why(row: Row | None) -> str:
    return "never asked" if row is None else f"{row['error_class']}: {row['error_message']}"


def _read_replies(lake: Lake, run_id: str, play_ids: Sequence[str]) -> dict[Place, Row]:
    """The reply at each place: the first with a text, else the last error."""
    scanned = lake.scan("responses", run_id).filter(pl.col("session").is_in(list(play_ids)))
    asked = pl.col("messages").list.last().struct.field("content")
    shown = {"text": pl.col("text").str.slice(0, LONGEST), "signs": pl.col("text").str.len_chars(), "asked": asked}
    kept = ("session", "turn", "speaker", "model", "response_id", "error_class", "error_message", "received_at")
    rows = scanned.select(*kept, **shown).collect()
    first = rows.sort(pl.col("text").is_null(), "received_at", "response_id")
    once = first.unique(["session", "turn", "speaker"], keep="first")
    return {(row["session"], row["turn"], row["speaker"]): row for row in once.iter_rows(named=True)}


def _readings(
    warehouse: duckdb.DuckDBPyConnection, lake: Lake, run_id: str, play_ids: Sequence[str]
) -> dict[Place, Reading]:
    """The reading of each reply that is judged."""
    given = [run_id, play_ids]
    tasks = _group_rows(fetch_rows(warehouse, TASKS, given).iter_rows(named=True), "play_id", "reply")
    verdicts = _group_rows(_verdicts(lake, run_id, play_ids), "case_id", "sample")
    found = {}
    for row in fetch_rows(warehouse, JUDGED, given).iter_rows(named=True):
        key = (row["play_id"], row["reply"])
        own = tasks.get(key, ()), row["said"], verdicts.get(key, ())
        found[row["play_id"], row["turn"], row["speaker"]] = Reading(row["outcome"], row["reason"], *own)
    return found


def _group_rows(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


def _verdicts(lake: Lake, run_id: str, play_ids: Sequence[str]) -> Iterable[Row]:
    rows = lake.scan("verdicts", run_id).filter(pl.col("case_id").is_in(list(play_ids))).collect()
    return rows.sort("evaluation_id", "judged_at", "verdict_id").iter_rows(named=True)


PLAYS = """
    from intermediate.int_interaction_plays
    where run_id = $1 and play_id in (select unnest($2::varchar[]))
"""
TASKS = """
    select play_id, reply, assigned_to, invented_names, status
    from intermediate.int_task_assignments
    where run_id = $1 and play_id in (select unnest($2::varchar[]))
    order by play_id, reply, task_number
"""
JUDGED = """
    select play_id, reply, turn, speaker, outcome, reason, null as said
    from intermediate.int_assignments
    where run_id = $1 and play_id in (select unnest($2::varchar[]))
    union all
    select play_id, 1, 1, 'assistant', outcome, reason, said
    from intermediate.int_understandings
    where run_id = $1 and play_id in (select unnest($2::varchar[]))
"""
