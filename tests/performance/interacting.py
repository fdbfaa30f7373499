"""How close a whole interaction comes to what latency alone would take.

    python tests/performance/interacting.py [--repeats 3]

Gender scenes of four people in four rounds, over HTTP, at 100 ms latency and 64 requests at once: 8,880 requests,
as 111 scenes of five runs have them. Two bounds: the requests, so many at once as may be; and the turns of a talk
that wait for each other, which no concurrency shortens. Measured from the first request to the last reply, with
what the process takes from start to end and its CPU: the endpoint is a process of its own, and shares the cores.
"""

import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import yaml
from rig import options
from rig.endpoint import Behaviour
from rig.loopback import Loopback, Traffic, loopback
from rig.table import at_most, table
from rig.timing import load

from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.scenario.interaction import every_scene

PLAYS, PEOPLE, ROUNDS, CONCURRENCY, LATENCY_S = 555, 4, 4, 64, 0.1
REQUESTS = PLAYS * PEOPLE * ROUNDS
IN_TURN = 2 * PEOPLE + 2
"""Turns of a play of the protocol `study` that wait for each other: two rounds at once, two one by one."""
RATIO = 1.3


@dataclass(frozen=True)
class Interacted:
    wall_s: float
    cpu_s: float
    """Of the process that interacts, its temporary Prefect server among it."""
    traffic: Traffic


def scenes_of_four(catalog: Catalog) -> list[str]:
    return [
        scene.id
        for _, scene in every_scene(catalog)
        if sum(scene.groups.values()) == PEOPLE and scene.question == "assignment" and not scene.is_control
    ]


def interaction_file(folder: Path, scenes: list[str]) -> Path:
    """As many scenes as make whole runs of them."""
    runs = next(runs for runs in range(5, PLAYS) if PLAYS % runs == 0 and PLAYS // runs <= len(scenes))
    own = {
        "models": ["loopback/any"],
        "scenes": scenes[: PLAYS // runs],
        "settings": ["no_goal"],
        "runs": runs,
        "protocol": "study",
    }
    path = folder / "interacting.yaml"
    path.write_text(yaml.safe_dump({"interaction": own}))
    return path


def overlay(folder: Path, endpoint: Loopback) -> Path:
    """A catalog with the endpoint's model."""
    limits = {"concurrency": CONCURRENCY}
    provider = {"connector": "openai", "base_url": endpoint.base_url, "limits": limits, "models": "any"}
    catalog = folder / "catalog"
    catalog.mkdir()
    (catalog / "models.yaml").write_text(yaml.safe_dump({"providers": {"loopback": provider}}))
    return catalog


def interact(asked: Path, catalog: Path, data: Path, endpoint: Loopback) -> Interacted:
    """Runs an interaction as a process. Raises RuntimeError where it sent more or less than expected."""
    words = ["interact", asked, "--data", data, "--yes"]
    endpoint.forget()
    before, started = _children_s(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", "from biasgrid.flows.cli.process import run; run()", *map(str, words)],
        env={**os.environ, "BIASGRID_CATALOG": str(catalog)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = Interacted(time.perf_counter() - started, _children_s() - before, endpoint.traffic())
    if done.returncode not in (0, 1) or found.traffic.answered != REQUESTS:
        raise RuntimeError(f"{found.traffic.answered} of {REQUESTS} requests answered: {done.stderr}")
    return found


def _children_s() -> float:
    """CPU of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(repeats: int) -> None:
    bound_s = max(math.ceil(REQUESTS / CONCURRENCY), IN_TURN) * LATENCY_S
    with tempfile.TemporaryDirectory() as name, loopback(Behaviour(latency_s=LATENCY_S)) as endpoint:
        folder = Path(name)
        asked = interaction_file(folder, scenes_of_four(load_catalog()))
        catalog = overlay(folder, endpoint)
        found = [interact(asked, catalog, folder / f"data-{number}", endpoint) for number in range(repeats)]
    rows = [
        ["interact", REQUESTS, bound_s, one.traffic.span_s, one.traffic.span_s / bound_s, one.wall_s, one.cpu_s]
        for one in found
    ]
    title = f"{PLAYS} plays of {PEOPLE} agents in {ROUNDS} rounds at {CONCURRENCY}, load {load():.1f}"
    headings = ("turn", "requests", "bound s", "asking s", "ratio", "process s", "cpu s")
    print(table(title, headings, rows))
    print(f"a talk by itself: {IN_TURN * LATENCY_S:.1f} s in {IN_TURN} turns that wait for each other")
    ratio = median(one.traffic.span_s / bound_s for one in found)
    print(at_most("asking beside the latency's bound", ratio, RATIO))


if __name__ == "__main__":
    main(options(__doc__, repeats=3).repeats)
