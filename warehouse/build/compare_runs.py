"""Two runs, or one run by two of its evaluations, side by side in a warehouse of their own.

Each side is a run there, and the earlier one precedes the later: the models that decide about two nightly runs
decide about them.
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
    """A warehouse of the two, with these tables of the schema `comparison`; gone when it is left.

    Raises `LakeDamaged` where one of them is damaged, `StorageTrouble` where there is no room.
    """
    with TemporaryDirectory(prefix="biasgrid-comparison-") as folder:
        path = Path(folder) / "comparison.duckdb"
        with storing(path), open_new_file(path) as warehouse:
            fill(warehouse, lake, load_comparison(tables), (earlier, later))
            yield warehouse
