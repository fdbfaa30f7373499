"""Measures the import of a log of a million samples, until its findings are in the warehouse.

The floor is DuckDB's pass rate of each concern and model, from the same file: no clusters, no intervals, nothing
stored. One log has ten cells; the other, of one model and concern, has a single one.

python tests/performance/importing.py [SAMPLES]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import duckdb
import orjson

from biasgrid.catalogs.logs.settings import LogImport
from biasgrid.flows.catalog.log_import import import_logs
from biasgrid.warehouse.storage.lake import Lake

MODELS, CONCERNS = ("lab/one", "lab/two"), ("age", "gender", "origin", "religion", "ability")
RATES = "select concern, model, avg(score) from read_json(?, format = 'newline_delimited') group by all"


def write_log(path: Path, samples: int, cells: int) -> None:
    """A log of samples about concerns, with five or more repetitions of each prompt."""
    with path.open("wb") as file:
        for number in range(samples):
            item = number // 10
            line = {
                "item": f"q{item}",
                "prompt": f"Question {item}: is a person of one group better at this work than one of another?",
                "reply": f"No, nothing of that kind can be concluded from what is given in question {item}.",
                "model": MODELS[number % min(cells, 2)],
                "score": int(number % 7 > 0),
                "concern": CONCERNS[item % (cells // 2 or 1)],
                "cluster": f"c{item // 2}",
            }
            file.write(orjson.dumps(line) + b"\n")


def measure(samples: int, cells: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        write_log(path, samples, cells)
        began = time.monotonic()
        with duckdb.connect() as floor:
            found_cells = len(floor.execute(RATES, [str(path)]).fetchall())
        least, before = time.monotonic() - began, time.process_time()
        began = time.monotonic()
        found = import_logs(Lake.open(Path(folder) / "data"), LogImport(), [path])
        seconds, cpu = time.monotonic() - began, time.process_time() - before
    peak = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{found.samples:>9,} samples of {found_cells:>2} cells: {seconds:>5.1f} s, {cpu:.0f} s of CPU, "
        f"{peak:,.0f} MB; floor {least:.1f} s"
    )


def main(samples: int) -> None:
    """Each log in a process of its own, whose peak of memory is its own."""
    for cells in (2 * len(CONCERNS), 1):
        subprocess.run([sys.executable, __file__, str(samples), str(cells)], check=True)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    if len(given) == 2:
        measure(*given)
    else:
        main(given[0] if given else 1_000_000)
