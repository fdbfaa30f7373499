"""Building the warehouse after one more night: as long after a year as after the first night?

    python tests/performance/nightly.py [--nights 365] [--lake DIR]

The lake is generated: nights of a hundred thousand verdicts (`rig/nights.py`). `--lake` keeps it. One process does
all builds, one by one; the floor is DuckDB's pass rate of each cell of one night, from the same files.
"""

import shutil
import tempfile
import time
from pathlib import Path

from rig import options
from rig.nights import CONCERNS, INPUTS, land_night
from rig.table import at_most, table
from rig.timing import seconds
from warehousing import in_sql

from biasgrid.warehouse.build.build import build, prepare
from biasgrid.warehouse.storage.compaction import compact_run, find_superseded, remove_superseded
from biasgrid.warehouse.storage.lake import Lake

RATIO, SECONDS, AGAIN = 1.5, 6.0, 2.0


def land_nights(lake: Lake, nights: int) -> None:
    """Each is compacted, as runs are at their end."""
    for night in range(len(lake.runs()), nights):
        land_night(lake, night)
        compact_run(lake, lake.runs()[-1])
        remove_superseded(lake, find_superseded(lake, lake.runs()[-1]))


def measure(lake: Lake) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    build(lake)
    return time.perf_counter() - wall, time.process_time() - cpu


def judge_again(lake: Lake, run_id: str) -> None:
    """A run's files change as if it had been judged once more with the same result."""
    path = lake.files("verdicts", run_id)[0]
    copy = path.with_suffix(".copy")
    shutil.copyfile(path, copy)
    copy.rename(path)


def compare(first: Lake, year: Lake, nights: int) -> None:
    land_nights(first, 1)
    land_nights(year, nights - 1)
    nights = len(year.runs()) + 1  # a lake that was kept may have more
    build(first, first.root / "warm.duckdb")
    rows = [("first night", *measure(first))]
    rows.append((f"{nights - 1} nights, all", *measure(year)))
    land_nights(year, nights)
    rows.append(("one more night", *measure(year)))
    judge_again(year, year.runs()[nights // 2])
    rows.append(("an old run judged again", *measure(year)))
    rows.append(("nothing changed", *measure(year)))
    rows.append(("floor: pass rates of one night", seconds(lambda: in_sql(first)), None))
    title = f"{nights} nights of {len(CONCERNS) * len(INPUTS) * 10_000:,} verdicts"
    print(table(title, ("build", "s", "CPU s"), rows))
    took = {name: wall for name, wall, _ in rows}
    print(at_most("one more night, times the first", took["one more night"] / took["first night"], RATIO))
    print(at_most("one more night, seconds", took["one more night"], SECONDS))
    print(
        at_most(
            "judged again, times one more night", took["an old run judged again"] / took["one more night"], AGAIN
        )
    )
    print(f"  file: {year.database.stat().st_size / 1e6:,.0f} MB")


def main() -> None:
    kept = {"type": Path, "help": "a directory to keep the lake in, or where it was kept"}
    asked = options(__doc__, nights=365, lake=kept)
    prepare()
    with tempfile.TemporaryDirectory() as folder:
        first = Lake.open(Path(folder) / "first")
        compare(first, Lake.open(asked.lake or Path(folder) / "year"), asked.nights)


if __name__ == "__main__":
    main()
