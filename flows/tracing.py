"""`biasgrid trace`: where an id leads, as a tree, as JSON or as SQL."""

from __future__ import annotations

from pathlib import Path

from catalogs.mistakes import Mistake, UserMistake
from flows.encoding import write_data
from flows.play_trace_tree import show_plays
from flows.preparation import existing_lake
from flows.probe_trace_tree import show_probe_trace
from flows.session_trace_tree import as_json as told_as_json
from flows.session_trace_tree import show_sessions
from flows.trace_tree import show_trace
from tasks.aggregate.other_origin import OtherOrigin, find_other_origin
from tasks.aggregate.play_trace import played, scores_sql
from tasks.aggregate.probe_trace import trace_probe
from tasks.aggregate.trace import trace
from tasks.aggregate.trace_kinds import Kind
from tasks.aggregate.trace_sql import finding_sql
from tasks.transcripts.plays import plays
from tasks.transcripts.sessions import sessions
from warehouse.lake import Lake
from warehouse.runs import find


def show(
    asked: str,
    *,
    kind: Kind | None,
    run: str | None,
    model: str | None,
    examples: int,
    as_json: bool,
    with_sql: bool,
    data: str | Path | None,
) -> None:
    """Raises UserMistake for an id that is unknown or may be several, and where no warehouse has been built."""
    lake = existing_lake(data)
    run_id = find(lake, run).run_id if run else None
    if other := find_other_origin(lake, asked, kind, run_id):
        TELLING[other.run.kind](lake, other, model=model, examples=examples, as_json=as_json, with_sql=with_sql)
        return
    found = trace(lake, asked, kind=kind, run_id=run_id, model=model, examples=examples)
    sql = finding_sql(found) if with_sql else None
    if as_json:
        write_data(found.as_json(sql))
    elif sql is not None:
        write_data(sql)
    else:
        show_trace(found)


def _show_probe(
    lake: Lake, origin: OtherOrigin, *, model: str | None, examples: int, as_json: bool, with_sql: bool
) -> None:
    found = trace_probe(lake, origin, examples, model)
    sql = found.as_sql() if with_sql else None
    if as_json:
        write_data(found.as_json(sql))
    elif sql is not None:
        write_data(sql)
    else:
        show_probe_trace(found)


def _show_sessions(
    lake: Lake, origin: OtherOrigin, *, model: str | None, examples: int, as_json: bool, with_sql: bool
) -> None:
    if with_sql or model:
        what = "a red team's sessions are told one by one, whatever the model, and no SQL makes them"
        raise UserMistake(Mistake(what, "--sql" if with_sql else "--model", "leave it out"))
    found = sessions(lake, origin.run.run_id, origin.case_ids[:examples])
    if as_json:
        write_data(told_as_json(origin, "sessions", found))
    else:
        show_sessions(origin, found)


def _show_plays(
    lake: Lake, origin: OtherOrigin, *, model: str | None, examples: int, as_json: bool, with_sql: bool
) -> None:
    shown = played(lake, origin, model)
    found = plays(lake, origin.run.run_id, shown.case_ids[:examples])
    if as_json:
        write_data(told_as_json(shown, "plays", found))
    elif with_sql:
        write_data(scores_sql(shown.run.run_id, found))
    else:
        show_plays(shown, found)


TELLING = {"probe": _show_probe, "redteam": _show_sessions, "interaction": _show_plays}
"""By the kind of run."""
