"""The cases of a run, landed cell by cell. Never cached: a run's own record of what it asks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import polars as pl
from ulid import ULID

from catalogs.catalog import Catalog
from catalogs.models import Target
from catalogs.schema import ScenarioSettings
from tasks.generate.cases import cases
from warehouse.lake import Lake
from warehouse.schemas import CELL_KEYS

CELL = [name for name, _ in CELL_KEYS]
PART = ["requirement", "language", "input", "reflection"]
"""What tells the cells of one model apart."""


def land_cases(
    lake: Lake,
    run_id: str,
    instances: pl.DataFrame,
    targets: Iterable[Target],
    settings: ScenarioSettings,
    catalog: Catalog,
) -> pl.DataFrame:
    """Write the cases of `instances` for every model, one file a cell, and an event for each planned cell.

    Returns the cells: CELL_KEYS and `planned`. The same input overwrites its own files with the same rows. One
    cell after the other, so that memory does not grow with models and samples.
    """
    asked = list(targets)
    planned = [_planned(cases(instances.clear(), asked, settings, catalog))]
    for part in instances.partition_by(*PART, maintain_order=True):
        for target in asked:
            cell = cases(part, [target], settings, catalog).with_columns(pl.lit(run_id).alias("run_id"))
            lake.write("cases", run_id, cell["cell_id"][0], cell)
            planned.append(_planned(cell))
    return pl.concat(planned)


def _planned(asked: pl.DataFrame) -> pl.DataFrame:
    return asked.group_by(CELL, maintain_order=True).agg(pl.len().cast(pl.Int64).alias("planned"))


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
