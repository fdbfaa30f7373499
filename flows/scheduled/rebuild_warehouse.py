"""Rebuilds the warehouse from the lake as a Prefect flow."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from prefect import flow, get_run_logger
from prefect.artifacts import acreate_table_artifact

from biasgrid.flows.runs.driver import report_user_errors
from biasgrid.flows.runs.prepare import existing_lake
from biasgrid.flows.runs.session import receive_sigterm
from biasgrid.warehouse.expectations.process import start_inspector
from biasgrid.warehouse.storage.journal import recover
from biasgrid.warehouse.storage.lake import Lake


@flow(name="rebuild-warehouse", flow_run_name="rebuild the warehouse", persist_result=False)
@report_user_errors
async def rebuild_warehouse(data: str | None = None, expectations: bool = True) -> dict[str, int]:
    """Build the DuckDB file anew from everything that has landed; returns how many rows each mart has.

    Args:
        data: directory of the lake and the warehouse; None: `BIASGRID_DATA`, or `data`
        expectations: the new file replaces the old one only if lake and marts are as expected
    """
    receive_sigterm()
    lake = existing_lake(data)
    begun = time.monotonic()
    await asyncio.to_thread(_rebuild, lake, expectations)
    seconds = time.monotonic() - begun
    rows = await asyncio.to_thread(rows_of_marts, lake)
    get_run_logger().info("%d marts in %.1f s: %s", len(rows), seconds, lake.database)
    table: list[dict[str, Any]] = [{"mart": mart, "rows": count} for mart, count in rows.items()]
    await acreate_table_artifact(
        table=table, key="warehouse", description=f"The warehouse, built from the lake in {seconds:.1f} s"
    )
    return rows


def rows_of_marts(lake: Lake) -> dict[str, int]:
    """Row count of each mart by name; raises UserError if there is no warehouse."""
    from biasgrid.warehouse.build.build import query

    marts = query(lake, "select table_name from duckdb_tables() where schema_name = 'marts' order by all")
    counts = [f"select '{mart}', count(*) from marts.{mart}" for mart in marts["table_name"]]  # noqa: S608 - our models
    return dict(query(lake, " union all ".join(counts) + " order by all").iter_rows())


def _rebuild(lake: Lake, expectations: bool) -> None:
    from biasgrid.warehouse.build.build import build
    from biasgrid.warehouse.expectations.gate import build_inspected

    with start_inspector(expectations) as inspector:
        recover(lake)
        if inspector:
            build_inspected(lake, inspector)
        else:
            build(lake)
