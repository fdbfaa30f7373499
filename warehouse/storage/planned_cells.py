"""Which cells a run has, with how many cases each: landed once all of them are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

import polars as pl
from ulid import ULID

from biasgrid.warehouse.schemas import CELL_KEYS
from biasgrid.warehouse.storage.lake import Lake

CELL = [name for name, _ in CELL_KEYS]


def planned(cases: pl.DataFrame) -> pl.DataFrame:
    """The cells of some cases: CELL_KEYS and `planned`, the number of their cases."""
    return cases.group_by(CELL, maintain_order=True).agg(pl.len().cast(pl.Int64).alias("planned"))


def land_by_cell(lake: Lake, cases: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Write cases, those of a cell in a row, a file a cell. Returns the cells as `planned` does, none for no
    cases. The same cases overwrite their own files with the same rows."""
    cells = [pl.DataFrame(schema={**dict.fromkeys(CELL, pl.String), "planned": pl.Int64})]
    for cell_id, own in groupby(cases, key=itemgetter("cell_id")):
        rows = pl.DataFrame(list(own), infer_schema_length=None)
        lake.write("cases", str(rows["run_id"][0]), cell_id, rows)
        cells.append(planned(rows))
    return pl.concat(cells)


def record_planned(lake: Lake, run_id: str, cells: pl.DataFrame) -> None:
    """Lands one event that says which cells a run has, with how many cases each."""
    event_id = str(ULID())
    events = cells.with_columns(
        pl.lit(run_id).alias("run_id"),
        pl.lit(event_id).alias("event_id"),
        pl.lit(datetime.now(UTC)).alias("recorded_at"),
        pl.lit("planned").alias("state"),
    )
    lake.write("cells", run_id, f"planned-{event_id}", events)


def planned_cells(lake: Lake, run_id: str) -> pl.DataFrame:
    """The cells of a run whose cases have landed, in the order in which they were planned."""
    events = lake.read("cells", run_id, "planned-*")
    return events.unique("cell_id", keep="last", maintain_order=True).select(*CELL, "planned")
