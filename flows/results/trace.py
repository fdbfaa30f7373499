"""`biasgrid trace`: the origin of an id as a tree, JSON or SQL."""

from __future__ import annotations

from pathlib import Path

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.interaction.trace_view import show_plays
from biasgrid.flows.probe.trace_view import show_probe_trace
from biasgrid.flows.redteam.trace_view import as_json as told_as_json
from biasgrid.flows.redteam.trace_view import show_sessions
from biasgrid.flows.results.trace_view import show_trace
from biasgrid.flows.runs.prepare import existing_lake
from biasgrid.flows.terminal.encoding import write_data
from biasgrid.tasks.aggregate.trace import Kind
from biasgrid.tasks.aggregate.trace.benchmark import trace
from biasgrid.tasks.aggregate.trace.origin import OtherOrigin, find_other_origin
from biasgrid.tasks.aggregate.trace.other_kinds import keep_model, scores_sql, trace_probe
from biasgrid.tasks.transcripts.plays import plays
from biasgrid.tasks.transcripts.sessions import sessions
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import find_run


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
    """Raises UserError for an id that is unknown or may be several, and where no warehouse has been built."""
    lake = existing_lake(data)
    run_id = find_run(lake, run).run_id if run else None
    if other := find_other_origin(lake, asked, kind, run_id):
        TELLING[other.run.kind](lake, other, model=model, examples=examples, as_json=as_json, with_sql=with_sql)
        return
    found = trace(lake, asked, kind=kind, run_id=run_id, model=model, examples=examples)
    sql = found.as_sql() if with_sql else None
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
        raise UserError(Problem(what, "--sql" if with_sql else "--model", "leave it out"))
    found = sessions(lake, origin.run.run_id, origin.case_ids[:examples])
    if as_json:
        write_data(told_as_json(origin, "sessions", found))
    else:
        show_sessions(origin, found)


def _show_plays(
    lake: Lake, origin: OtherOrigin, *, model: str | None, examples: int, as_json: bool, with_sql: bool
) -> None:
    shown = keep_model(lake, origin, model)
    found = plays(lake, origin.run.run_id, shown.case_ids[:examples])
    if as_json:
        write_data(told_as_json(shown, "plays", found))
    elif with_sql:
        write_data(scores_sql(shown.run.run_id, found))
    else:
        show_plays(shown, found)


TELLING = {"probe": _show_probe, "redteam": _show_sessions, "interaction": _show_plays}
"""By the kind of run."""
