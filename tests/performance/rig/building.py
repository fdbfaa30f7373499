"""One build of a warehouse in a process of its own, whose memory is its alone.

    python -m rig.building LAKE

Prints JSON: seconds and CPU seconds of the build, peak memory of the process in MB.
"""

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from rig.timing import load

ROOM = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Built:
    wall_s: float
    cpu_s: float
    """Of all threads: what other people's work cannot lengthen as much."""
    peak_mb: float
    load: float


def build_alone(lake: Path) -> Built:
    """Builds it anew: the file is deleted first."""
    (lake / "biasgrid.duckdb").unlink(missing_ok=True)
    busy = load()
    command = [sys.executable, "-m", "rig.building", str(lake)]
    result = subprocess.run(command, cwd=ROOM, check=True, stdout=subprocess.PIPE, text=True)
    return Built(**json.loads(result.stdout), load=busy)


def build_here(lake: Path) -> dict[str, float]:
    from biasgrid.warehouse.build.build import build
    from biasgrid.warehouse.storage.lake import Lake

    wall, cpu = time.perf_counter(), time.process_time()
    build(Lake(lake))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return {"wall_s": wall, "cpu_s": cpu, "peak_mb": peak}


if __name__ == "__main__":
    print(json.dumps(build_here(Path(sys.argv[1]))))
