"""The cases of a run, landed cell by cell. Never cached: a run's own record of what it asks."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.entries import ScenarioSettings
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.generate.cases import cases
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import planned

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
    cells = [planned(cases(instances.clear(), asked, settings, catalog))]
    for part in instances.partition_by(*PART, maintain_order=True):
        for target in asked:
            cell = cases(part, [target], settings, catalog).with_columns(pl.lit(run_id).alias("run_id"))
            lake.write("cases", run_id, cell["cell_id"][0], cell)
            cells.append(planned(cell))
    return pl.concat(cells)
