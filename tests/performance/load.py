"""Peak memory and processor time of whole `biasgrid run` processes under loads at the edge of what is accepted.

    python tests/performance/load.py [names of loads]

Memory is that of the process alone, until the first request (planning) and until its end. `sound` is a run of a
few short replies, with which the others are compared.
"""

import csv
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rig.endpoint import Behaviour
from rig.loopback import loopback
from rig.runs import INCOMPLETE, MET, NOT_MET, Setting, Whole, watch
from rig.scenario import COLUMNS, Written, write_scenario
from rig.table import table

MEGABYTE = 1_000_000
CONCURRENCY = 16


def sound(folder: Path, base_url: str) -> Written:
    return write_scenario(folder, base_url, 280, CONCURRENCY)


def long_replies(folder: Path, base_url: str) -> Written:
    """1,000 replies of 1 MB in one cell."""
    written = write_scenario(folder, base_url, 8, CONCURRENCY, samples=125)
    return keep_requirements(written, 1)


def many_models(folder: Path, base_url: str) -> Written:
    """1,000 replies of 1 MB, of 50 models that are asked at once."""
    models = [f"loopback/m{number}" for number in range(50)]
    written = write_scenario(folder, base_url, 10, CONCURRENCY, samples=2, models=models)
    return keep_requirements(written, 1)


def keep_requirements(written: Written, count: int) -> Written:
    asked = json.loads(written.scenario.read_text())
    asked["requirements"] = asked["requirements"][:count]
    written.scenario.write_text(json.dumps(asked))
    return written


def many_requirements(folder: Path, base_url: str) -> Written:
    """5,000 requirements, each of one template with eight communities."""
    written = write_scenario(folder, base_url, 28 * 8, CONCURRENCY)
    asked = json.loads(written.scenario.read_text())
    first = asked["requirements"][0] | {"inputs": ["constrained"], "reflections": ["observational"]}
    asked["requirements"] = [first | {"name": f"fair-{number}"} for number in range(5000)]
    written.scenario.write_text(json.dumps(asked))
    return written


def many_communities(folder: Path, base_url: str) -> Written:
    """One template with 100,000 communities."""
    written = write_scenario(folder, base_url, 8, CONCURRENCY)
    asked = json.loads(written.scenario.read_text())
    names = [f"people of group {number}" for number in range(100_000)]
    asked["requirements"] = [asked["requirements"][0] | {"communities": {"en_us": names}}]
    written.scenario.write_text(json.dumps(asked))
    return written


def large_library(folder: Path, base_url: str) -> Written:
    """A library of 100 MB."""
    written = write_scenario(folder, base_url, 56, CONCURRENCY)
    with written.library.open() as file:
        rows = list(csv.reader(file, delimiter="\t"))[1:]
    with written.library.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(COLUMNS)
        number = 0
        while file.tell() < 100 * MEGABYTE:
            row = list(rows[number % len(rows)])
            number += 1
            row[0], row[5] = str(number), f"Case {number}: are {{AGE}} less able than others are?"
            writer.writerow(row)
    return written


LOADS: dict[str, tuple[Callable[[Path, str], Written], int]] = {
    "sound": (sound, 0),
    "1,000 replies of 1 MB": (long_replies, MEGABYTE),
    "the same of 50 models": (many_models, MEGABYTE),
    "5,000 requirements": (many_requirements, 0),
    "100,000 communities": (many_communities, 0),
    "a library of 100 MB": (large_library, 0),
}


def measure(name: str, folder: Path) -> Whole:
    write, reply_bytes = LOADS[name]
    with loopback(Behaviour(latency_s=0.01, reply_bytes=reply_bytes)) as server:
        written = write(folder, server.base_url)
        whole = watch(name, 1, Setting(written, folder / "home", folder / "run").run("data", "--yes"), server)
    if whole.spent.code not in (MET, NOT_MET, INCOMPLETE):
        print(f"  {name} ended with {whole.spent.code}:\n{whole.spent.output.strip()[-1500:]}")
    return whole


def row(whole: Whole) -> list[object]:
    took, traffic = whole.spent, whole.traffic
    planning = None if traffic.first is None else took.own_peak_until(traffic.first)
    return [whole.name, traffic.received, planning, took.own_peak_mb, whole.before_s, took.wall_s, took.cpu_s]


def main() -> None:
    measures = ("requests", "planning MB", "peak MB", "planning s", "wall s", "CPU s")
    rows = []
    for name in sys.argv[1:] or LOADS:
        with tempfile.TemporaryDirectory() as scratch:
            rows.append(row(measure(name, Path(scratch))))
        print(table("whole runs", ("load", *measures), rows), flush=True)


if __name__ == "__main__":
    main()
