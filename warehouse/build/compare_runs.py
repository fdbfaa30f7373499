"""Compares two runs, or two evaluations of one run, in a temporary warehouse.

Each side is one run there, and the earlier one comes first: models that compare two nightly runs compare the
sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from biasgrid.warehouse.build.build import fill, open_new_file
from biasgrid.warehouse.build.models import load_comparison
from biasgrid.warehouse.build.run_scope import Side
from biasgrid.warehouse.storage.errors import storing
from biasgrid.warehouse.storage.lake import Lake


@contextmanager
def side_by_side(
    lake: Lake, earlier: Side, later: Side, tables: tuple[str, ...]
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Temporary warehouse of the two sides, with these tables of the schema `comparison`.

    Raises `LakeDamaged` if a side is damaged, `StorageTrouble` if there is no space.
    """
    with TemporaryDirectory(prefix="biasgrid-comparison-") as folder:
        path = Path(folder) / "comparison.duckdb"
        with storing(path), open_new_file(path) as warehouse:
            fill(warehouse, lake, load_comparison(tables), (earlier, later))
            yield warehouse
