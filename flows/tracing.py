"""`biasgrid trace`: where an id leads, as a tree, as JSON or as SQL."""

from __future__ import annotations

from pathlib import Path

from flows.encoding import write_data
from flows.preparation import existing_lake
from flows.trace_tree import show_trace
from tasks.aggregate.trace import trace
from tasks.aggregate.trace_kinds import Kind
from tasks.aggregate.trace_sql import finding_sql
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
    found = trace(lake, asked, kind=kind, run_id=run_id, model=model, examples=examples)
    sql = finding_sql(found) if with_sql else None
    if as_json:
        write_data(found.as_json(sql))
    elif sql is not None:
        write_data(sql)
    else:
        show_trace(found)
