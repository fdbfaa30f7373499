"""`biasgrid trace`: the origin of an id as a tree, JSON or SQL."""

from __future__ import annotations

from pkgutil import resolve_name

from biasgrid.flows.results.trace_view import Asked, Rendering, show_trace
from biasgrid.flows.runs.kinds import find_kind
from biasgrid.flows.runs.prepare import existing_lake
from biasgrid.flows.runs.run_state import warn_of_unfinished
from biasgrid.flows.terminal.encoding import write_data
from biasgrid.tasks.aggregate.trace.benchmark import trace
from biasgrid.tasks.aggregate.trace.origin import find_other_origin
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import find_run
from biasgrid.warehouse.storage.tombstones import refuse_forgotten
from biasgrid.warehouse.storage.verification import list_files, refuse_damaged


def show(asked: Asked) -> None:
    """Raises UserError for an id that is unknown or ambiguous, and where no warehouse has been built."""
    found = _trace(existing_lake(asked.data), asked)
    sql = found.as_sql() if asked.with_sql else None
    if asked.as_json:
        write_data(found.as_json(sql))
    elif sql is not None:
        write_data(sql)
    else:
        found.show()


def _trace(lake: Lake, asked: Asked) -> Rendering:
    refuse_damaged(lake, list_files(lake))
    refuse_forgotten(lake, asked.id.upper(), "trace")
    run_id = find_run(lake, asked.run, needs="trace").run_id if asked.run else None
    if origin := find_other_origin(lake, asked.id, asked.kind, run_id):
        warn_of_unfinished(lake, [origin.run])
        found: Rendering = resolve_name(find_kind(origin.run.kind).trace)(lake, origin, asked)
        return found
    whole = trace(lake, asked.id, kind=asked.kind, run_id=run_id, model=asked.model, examples=asked.examples)
    warn_of_unfinished(lake, [find_run(lake, whole.origin.run_id)])
    return Rendering(whole.as_json, whole.as_sql, lambda: show_trace(whole))
