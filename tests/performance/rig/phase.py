"""One prompting phase in a process of its own, so that no contender pays for another's memory or garbage.

    python -m rig.phase CONTENDER BASE_URL COUNT CONCURRENCY CELLS

Prints JSON: seconds, CPU seconds (all threads), peak memory in MB.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from rig.loopback import Loopback

ROOM = Path(__file__).resolve().parent.parent
WARMING = 64


@dataclass(frozen=True)
class Figures:
    """Of one phase."""

    count: int
    wall_s: float
    cpu_s: float
    peak_mb: float
    load: float
    """The machine's load average when it began: other people's work slows all of them."""
    asking_s: float = 0.0
    """From the endpoint's first request to its last reply."""

    @property
    def per_second(self) -> float:
        return self.count / self.wall_s

    @property
    def cpu_ms(self) -> float:
        """Per request."""
        return 1000 * self.cpu_s / self.count


def run_phase(contender: str, base_url: str, count: int, concurrency: int, cells: int) -> Figures:
    """Measure one contender. The endpoint's traffic afterwards is the phase's alone.

    Raises CalledProcessError where it lost a reply, or failed otherwise.
    """
    load = os.getloadavg()[0]
    command = [sys.executable, "-m", "rig.phase", contender, base_url, str(count), str(concurrency), str(cells)]
    path = os.pathsep.join([str(ROOM), os.environ.get("PYTHONPATH", "")])
    fields = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path})
    return Figures(count=count, load=load, **json.loads(fields.stdout))


async def measure_phase(
    contender: str, base_url: str, count: int, concurrency: int, cells: int
) -> dict[str, float]:
    from rig.phases import CONTENDERS, Load

    load, prepared = Load(base_url, count, concurrency, cells), CONTENDERS[contender]
    warming = replace(load, count=1 if contender == "sequential" else WARMING)
    async with prepared(warming) as warm_up:
        await warm_up()
    Loopback.of(base_url).forget()
    async with prepared(load) as phase:
        wall, cpu = time.perf_counter(), time.process_time()
        await phase()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return {"wall_s": wall, "cpu_s": cpu, "peak_mb": peak}


if __name__ == "__main__":
    name, url, *numbers = sys.argv[1:]
    count, concurrency, cells = map(int, numbers)
    print(json.dumps(asyncio.run(measure_phase(name, url, count, concurrency, cells))))
