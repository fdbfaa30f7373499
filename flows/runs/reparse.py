"""Stored replies read again by the catalog as it is now: readings next to the earlier ones."""

from __future__ import annotations

from dataclasses import replace
from pkgutil import resolve_name
from typing import Any

from prefect import flow
from ulid import ULID

from biasgrid.flows.operations.environment import secret_blocks
from biasgrid.flows.runs.driver import completed_state, conclude_again, report_user_errors
from biasgrid.flows.runs.kinds import all_kinds, find_kind
from biasgrid.flows.runs.prepare import Prepared, existing_lake, prepared_before
from biasgrid.flows.runs.session import run_session
from biasgrid.warehouse.expectations.process import start_inspector
from biasgrid.warehouse.storage.runs import find_run, planned_cells, refuse_other_kinds


@flow(name="read again", flow_run_name="read again · {run_id}", persist_result=False)
@report_user_errors
async def read_again(run_id: str, data: str | None = None, expectations: bool = False) -> Any:
    """Read the stored replies of a probe or an interaction again; no model is asked.

    Earlier readings stay, the newest one counts.

    Args:
        run_id: the run; a beginning or end that only one run has will do
        data: directory or `s3://bucket/prefix` of the lake and the warehouse
        expectations: the new warehouse replaces the old one only if lake and marts are as expected
    """
    lake = existing_lake(data)
    run = find_run(lake, run_id, needs="later reading")
    refuse_other_kinds(run, "reading again", *(kind.name for kind in all_kinds() if kind.reader))
    kind = find_kind(run.kind)
    prepared: Prepared[Any] = prepared_before(kind.name) or kind.prepare(
        run.scenario_resolved, secrets=secret_blocks()
    )
    async with run_session(lake, prepared, run.run_id, asks=False) as grid:
        with start_inspector(expectations) as inspector:
            again = replace(grid, again=str(ULID()))
            await resolve_name(kind.reader)(again, planned_cells(lake, run.run_id))
            found = await conclude_again(lake, run, kind, inspector)
        await kind.publish(lake, found, prepared.resolved.name)
    return completed_state(found)
