"""Seconds to build the warehouse from a million verdicts, compared with the least that reading them can take.

    python tests/performance/marts.py [verdicts]

The floor is DuckDB counting outcomes over the same Parquet files, in as many threads.
"""

import sys
import tempfile
from pathlib import Path

import duckdb
import polars as pl
from rig.nights import PER_CELL, land
from rig.timing import seconds

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake


def count(lake: Lake) -> object:
    """The floor: outcomes of the same files, counted."""
    with duckdb.connect() as floor:
        return floor.execute(
            "select outcome, count(*) from read_parquet(?) group by all",
            [[str(path) for path in lake.files("verdicts")]],
        ).fetchall()


def copy(lake: Lake) -> None:
    """A warehouse holds its rows: cases and verdicts, copied into one file and nothing else."""
    target = lake.root / "copy.duckdb"
    with duckdb.connect(target) as warehouse:
        for table in ("cases", "verdicts"):
            paths = [str(path) for path in lake.files(table)]
            warehouse.execute(f"create table {table} as from read_parquet(?)", [paths])
    target.unlink()


def measure(verdicts: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.open(Path(folder))
        landing = seconds(lambda: land(lake, max(verdicts, PER_CELL)), times=1)
        floor = seconds(lambda: count(lake))
        taken = {
            "floor: count": floor,
            "copy alone": seconds(lambda: copy(lake), times=2),
            "build": seconds(lambda: build(lake), times=2),
            "read a mart": seconds(lambda: query(lake, "from marts.pass_rates")),
            "land": landing,
        }
        landed = lake.scan("verdicts").select(pl.len()).collect().item()
        built = lake.database.stat().st_size / 1e6
        print(f"{landed:,} verdicts in {len(lake.files('verdicts'))} files, {built:.0f} MB built")
        for name, spent in taken.items():
            print(
                f"{name:>14} {spent:8.3f} s {spent / floor:8.1f} × floor {spent / taken['copy alone']:6.1f} × copy"
            )


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
