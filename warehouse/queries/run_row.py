"""A run as the warehouse holds it."""

from __future__ import annotations

from typing import Any

import duckdb

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.warehouse.build.build import connect, selected
from biasgrid.warehouse.storage.lake import Lake


def run_row(lake: Lake, run_id: str) -> dict[str, Any]:
    """Its row of staging.stg_runs, the run as last recorded. Raises `UserError` for one that the warehouse does
    not hold, and where none has been built."""
    with connect(lake) as warehouse:
        return recorded(warehouse, lake, run_id)


def recorded(warehouse: duckdb.DuckDBPyConnection, lake: Lake, run_id: str) -> dict[str, Any]:
    """As `run_row`, of a warehouse that is open."""
    rows = selected(warehouse, "select * from staging.stg_runs where run_id = ?", [run_id]).to_dicts()
    if rows:
        return rows[0]
    known = selected(warehouse, "select run_id from staging.stg_runs order by run_id")["run_id"].to_list()
    remedy = nearest(run_id, known) or "`biasgrid runs` lists them; `biasgrid warehouse build` brings in new ones"
    raise UserError(Problem(f"the warehouse holds no run `{run_id}`", str(lake.told(lake.database)), remedy))
