"""What a build takes on a lake of many small files, as nights leave it, and one that opens them again and again.

    python tests/performance/small_files.py [--files 2000]

The same rows lie in so many files of each table. All builds run in this process, one after the other, on the same
lake: of files that were folded by the build before, of those that are gathered in memory, and through DuckDB's
view of the files.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rig.nights import PER_CELL, land
from rig.table import at_most, table
from rig.timing import load

from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage import compaction
from biasgrid.warehouse.storage.lake import Lake

TABLES = ("cases", "responses", "verdicts")
CELLS = 4
RATIO = 0.5


def split(lake: Lake, files: int) -> None:
    """Each file of a cell into as many as make `files` of a table."""
    parts = files // CELLS
    for name in TABLES:
        for path in lake.files(name):
            run_id = path.parent.name.removeprefix("run_id=")
            rows = lake.read(name, run_id, path.stem)
            path.unlink()
            for number, part in enumerate(rows.iter_slices(-(-rows.height // parts))):
                lake.write(name, run_id, f"{path.stem}-{number:05}", part)


def measure_build(lake: Lake, **changed: int) -> tuple[float, float]:
    """Seconds and CPU seconds of a build with other limits than ours."""
    ours = {name: getattr(compaction, name) for name in changed}
    try:
        vars(compaction).update(changed)
        wall, cpu = time.perf_counter(), time.process_time()
        build(lake)
        return time.perf_counter() - wall, time.process_time() - cpu
    finally:
        vars(compaction).update(ours)


def compare(lake: Lake) -> Iterator[tuple[str, float, float]]:
    build(lake, lake.root / "first.duckdb")  # modules and models are read once, files folded
    yield "folded", *measure_build(lake)
    yield "gathered", *measure_build(lake, MANY=sys.maxsize)
    yield "through views", *measure_build(lake, SMALL=0)


def main(files: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.open(Path(folder))
        land(lake, CELLS * PER_CELL, 0)
        split(lake, files)
        found = [*compare(lake)]
        held = {name: len(lake.files(name)) for name in TABLES}
    print(table(f"{held}, load {load():.1f}", ("files are", "s", "CPU s"), [[*row] for row in found]))
    folding, gathering, views = (cpu for _, _, cpu in found)
    print(at_most("CPU seconds of gathering, beside views", gathering / views, RATIO))
    print(at_most("CPU seconds once folded, beside gathering", folding / gathering, 1.0))


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--files", type=int, default=2000)
    main(options.parse_args().files)
