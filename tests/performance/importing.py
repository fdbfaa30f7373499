"""Measures the import of a log of a million samples, until its findings are in the warehouse.

python tests/performance/importing.py [SAMPLES]
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import orjson

from biasgrid.catalogs.logs.settings import LogImport
from biasgrid.flows.catalog.log_import import import_logs
from biasgrid.warehouse.storage.lake import Lake

MODELS, CONCERNS = ("lab/one", "lab/two"), ("age", "gender", "origin", "religion", "ability")


def write_log(path: Path, samples: int) -> None:
    """A log of samples of two models about five concerns, with five repetitions of each prompt."""
    with path.open("wb") as file:
        for number in range(samples):
            item = number // 10
            line = {
                "item": f"q{item}",
                "prompt": f"Question {item}: is a person of one group better at this work than one of another?",
                "reply": f"No, nothing of that kind can be concluded from what is given in question {item}.",
                "model": MODELS[number % 2],
                "score": int(number % 7 > 0),
                "concern": CONCERNS[item % len(CONCERNS)],
                "cluster": f"c{item // 2}",
            }
            file.write(orjson.dumps(line) + b"\n")


def main(samples: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        write_log(path, samples)
        began = time.monotonic()
        found = import_logs(Lake.open(Path(folder) / "data"), LogImport(), [path])
        seconds, cpu = time.monotonic() - began, time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{found.samples:,} samples in {seconds:.1f} s, {cpu:.0f} s of CPU, {peak:,.0f} MB: {found.outcome}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
