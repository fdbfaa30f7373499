"""Stores the planned cases of an audit."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import cells_frame, count_planned


def land_cases(lake: Lake, cells: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Writes one file of cases per cell, idempotently; returns the cells as CELL_KEYS and `planned`."""
    planned = []
    for cell in cells:
        lake.write("cases", cell["run_id"][0], cell["cell_id"][0], cell)
        planned += count_planned(cell).rows()
    return cells_frame(planned)
