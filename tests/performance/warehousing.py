"""The warehouse at ten million verdicts: building it, judging again, reading replies, and how all of it grows.

    python tests/performance/warehousing.py [--cases 1000000 10000000] [--lake DIR]

The lakes are generated: nights of half a million cases, their replies and verdicts (`rig/nights.py`). `--lake`
keeps them. The build is compared with the least that DuckDB and Polars take for the pass rate of each cell, from
the same files.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import duckdb
import polars as pl
from rig import options
from rig.building import Built, build_alone
from rig.nights import PER_CELL, land
from rig.table import at_most, table
from rig.timing import seconds, time_of

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.tasks.evaluate.cell import Evaluation, evaluate_cells
from biasgrid.warehouse.storage.lake import Lake

BUILD_S, BUILD_MB, GROWTH, AGAIN_S = 25.0, 6 * 1024.0, 1.0, 3.0
BOUNDED = 10_000_000
"""Cases for which seconds and megabytes are stated, on two cores that do nothing else."""
AGAIN = 100_000
GRID = ["run_id", "requirement", "model", "language", "input", "reflection"]
FLOOR = f"""
    select {", ".join(GRID)}, count(*) filter (where outcome = 'passed') / count(*) as point_rate
    from read_parquet($cases) as cases
    inner join read_parquet($verdicts) as verdicts using (run_id, cell_id, case_id)
    where verdicts.level = 'instance' and verdicts.outcome in ('passed', 'failed')
    group by {", ".join(GRID)}
"""


def in_sql(lake: Lake) -> int:
    with duckdb.connect() as floor:
        files = {table: [str(path) for path in lake.files(table)] for table in ("cases", "verdicts")}
        return len(floor.execute(FLOOR, files).fetchall())


def in_polars(lake: Lake) -> int:
    judged = lake.scan("verdicts").filter(level="instance").filter(pl.col("outcome").is_in(["passed", "failed"]))
    rated = lake.scan("cases").join(judged, on=["run_id", "cell_id", "case_id"]).group_by(GRID)
    return rated.agg((pl.col("outcome") == "passed").mean()).collect(engine="streaming").height


def measure_growth(lakes: dict[int, Lake]) -> Iterator[tuple[int, Built, float, float]]:
    """The build and both floors of each lake."""
    for size, lake in lakes.items():
        land(lake, size, len(lake.files("cases")) * PER_CELL)
        build = build_alone(lake.root)
        yield size, build, seconds(lambda: in_sql(lake), times=1), seconds(lambda: in_polars(lake), times=1)  # noqa: B023


def compare_builds(lakes: dict[int, Lake]) -> None:
    found = list(measure_growth(lakes))
    columns = ("cases", "build s", "cases/s", "CPU s", "peak MB", "SQL s", "Polars s", "times SQL", "load")
    rows = [
        [
            f"{size:,}",
            took.wall_s,
            size / took.wall_s,
            took.cpu_s,
            took.peak_mb,
            sql,
            polars,
            took.wall_s / sql,
            took.load,
        ]
        for size, took, sql, polars in found
    ]
    print(table("the whole build, beside the pass rates alone", columns, rows))
    (small, less, *_), (large, more, *_) = found[0], found[-1]
    print(
        at_most("growth: seconds, times what the size grew", more.wall_s / less.wall_s / (large / small), GROWTH)
    )
    print(
        at_most("growth: CPU seconds, times what the size grew", more.cpu_s / less.cpu_s / (large / small), GROWTH)
    )
    if large == BOUNDED:
        print(at_most("seconds to build", more.wall_s, BUILD_S))
    print(at_most("peak MB", more.peak_mb, BUILD_MB))


def judge_again(lake: Lake) -> None:
    """A hundred thousand replies of the newest night, cell by cell, as a run judges them."""
    catalog, run_id = load_catalog(), lake.runs()[-1]
    cells = [path.stem for path in lake.files("cases", run_id)][: AGAIN // PER_CELL]

    async def judge() -> int:
        return sum(
            [await evaluate_cells(lake, run_id, [cell_id], Evaluation("again", catalog)) for cell_id in cells]
        )

    took, verdicts = time_of(lambda: asyncio.run(judge()))
    for path in lake.files("verdicts", run_id, "again-*"):
        path.unlink()
    print(table("judging again", ("verdicts", "s", "a second"), [[f"{verdicts:,}", took, verdicts / took]]))
    print(at_most(f"seconds for {len(cells) * PER_CELL:,} replies", took, AGAIN_S))


def main() -> None:
    asked = options(
        __doc__,
        cases={"type": int, "nargs": 2, "default": [1_000_000, BOUNDED], "metavar": ("SMALL", "LARGE")},
        lake={"type": Path, "help": "a directory to keep the lakes in, or where they were kept"},
    )
    with ExitStack() as stack:
        folder = asked.lake or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        lakes = {cases: Lake.open(folder / str(cases)) for cases in asked.cases}
        compare_builds(lakes)
        judge_again(lakes[asked.cases[-1]])


if __name__ == "__main__":
    main()
