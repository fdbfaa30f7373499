"""How much sooner a night ends with more workers, where it is the models' time that counts.

    python tests/performance/sharding.py [--workers 1 2 4] [--prompts 1200]

Eight models of equal size on an endpoint that takes a tenth of a second, each with a concurrency of its own, so
that no model's speed depends on how many are asked. A real Prefect server and process workers; each takes
one shard at a time; the night itself has a worker of its own. With four workers SQLite holds the server up: name a
PostgreSQL database in PREFECT_API_DATABASE_CONNECTION_URL. Counted is the time from the first shard's beginning
to the last one's end: scheduling, the start of a process per shard and landing included, the warehouse not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml
from rig.endpoint import Behaviour
from rig.loopback import loopback
from rig.runs import home_environment
from rig.scenario import Written, write_scenario
from rig.table import at_least, table

from biasgrid.deployments.processes import Claim, Process, end_in_order, hold_claim, start_process
from biasgrid.deployments.work_pools import NIGHTS, SHARDS
from support.prefect_server import PrefectServer, prefect_server

MODELS = [f"loopback/m{number}" for number in range(8)]
CONCURRENCY = 4
BOUNDS = {2: 1.8, 4: 3.3}
PATIENCE_S = 1800.0


@dataclass(frozen=True)
class Site:
    server: PrefectServer
    written: Written
    folder: Path
    claim: Claim

    @property
    def environment(self) -> dict[str, str]:
        return home_environment(self.folder / "home") | {
            "PREFECT_API_URL": self.server.api,
            "BIASGRID_CATALOG": str(self.written.catalog),
            "BIASGRID_DATA": str(self.folder / "data"),
        }

    def do(self, *words: str) -> None:
        subprocess.run(
            [sys.executable, "-P", "-m", *words],
            env=os.environ | self.environment,
            check=True,
            capture_output=True,
        )

    def worker(self, pool: str, nth: int, *words: str) -> Process:
        name = f"{pool}-{nth}"
        start = ["biasgrid.deployments.worker", "--pool", pool, "--name", name, *words]
        return start_process(name, start, self.folder / f"{name}.log", self.environment, self.claim)

    def ask(self, path: str, body: Any = None) -> Any:
        asked = urllib.request.Request(f"{self.server.api}{path}", headers={"Content-Type": "application/json"})
        asked.data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:  # SQLite stalls when backlogged
            return json.loads(answer.read())


@contextmanager
def site(prompts: int) -> Iterator[Site]:
    """An endpoint, a server and the deployments on it."""
    with tempfile.TemporaryDirectory() as name, loopback(Behaviour()) as endpoint:
        folder = Path(name)
        written = write_scenario(folder / "asked", endpoint.base_url, prompts, CONCURRENCY, coverage=0.5)
        _equal_models(written)
        with prefect_server(folder / "home") as server, hold_claim(folder / "claim") as claim:
            made = Site(server, written, folder, claim)
            made.do("biasgrid.deployments")
            made.do("prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(_declaration(made)))
            yield made


def _equal_models(written: Written) -> None:
    given = json.loads(written.scenario.read_text())
    given["scenario"]["models"] = MODELS
    written.scenario.write_text(json.dumps(given))
    file = written.catalog / "models.yaml"
    models = json.loads(file.read_text()) | {
        "models": {model: {"limits": {"concurrency": CONCURRENCY}} for model in MODELS}
    }
    file.write_text(json.dumps(models))


def _declaration(made: Site) -> Path:
    root = Path(__file__).parents[2]
    result = yaml.safe_load((root / "deployments" / "prefect.yaml").read_text())
    nightly = next(one for one in result["deployments"] if one["name"] == "nightly")
    nightly["schedules"] = []
    asked = {"scenario": str(made.written.scenario), "library": str(made.written.library), "expectations": False}
    nightly["parameters"] |= asked
    file = made.folder / "prefect.yaml"
    file.write_text(yaml.safe_dump(result))
    return file


@dataclass(frozen=True)
class Night:
    workers: int
    asking_s: float
    """From the first shard's beginning to the last one's end."""
    shards_s: float
    """Of one shard, on average."""
    whole_s: float


def night(made: Site, workers: int) -> Night:
    processes: list[Process] = []
    with end_in_order(processes):
        processes += [made.worker(NIGHTS, 0)]
        processes += [made.worker(SHARDS, nth, "--limit", "1") for nth in range(workers)]
        time.sleep(10)  # until all of them ask for work
        deployment = made.ask("/deployments/name/nightly/nightly")["id"]
        begun = made.ask(f"/deployments/{deployment}/create_flow_run", {})["id"]
        ended = _ended_run(made, begun)
        assert ended["state_type"] == "COMPLETED", ended["state"]["message"]
        return _night_of(made, workers, ended)


def _ended_run(made: Site, flow_run_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found: dict[str, Any] = made.ask(f"/flow_runs/{flow_run_id}")
        if found["state_type"] in {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}:
            return found
        time.sleep(1)
    raise TimeoutError(f"the night did not end within {PATIENCE_S:.0f} s")


def _night_of(made: Site, workers: int, ended: dict[str, Any]) -> Night:
    (run,) = [tag for tag in ended["tags"] if tag.startswith("run:")]
    found = made.ask("/flow_runs/filter", {"flow_runs": {"tags": {"all_": [run]}}, "limit": 200})
    shards = [one for one in found if one["name"].startswith("shard")]
    assert len(shards) == len(MODELS), [one["name"] for one in shards]
    # from the moment a worker took it: the start of its process is what a shard costs
    begun, over = ([_at(one[name]) for one in shards] for name in ("expected_start_time", "end_time"))
    lengths = [one["total_run_time"] for one in shards]
    return Night(workers, max(over) - min(begun), sum(lengths) / len(lengths), ended["total_run_time"])


def _at(expected: str) -> float:
    return datetime.fromisoformat(expected).timestamp()


def report(nights: Sequence[Night], prompts: int) -> None:
    one = nights[0].asking_s
    rows = [[n.workers, n.asking_s, n.shards_s, n.whole_s, one / n.asking_s] for n in nights]
    columns = ("workers", "asking s", "one shard s", "night s", "times one worker")
    print(table(f"eight models, {prompts} prompts each, {CONCURRENCY} at once of 100 ms", columns, rows))
    for n in nights:
        if nights[0].workers == 1 and n.workers in BOUNDS:
            print(at_least(f"{n.workers} workers against one", one / n.asking_s, BOUNDS[n.workers]))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--prompts", type=int, default=1200)
    return parser.parse_args()


def main() -> None:
    asked = options()
    with site(asked.prompts) as made:
        report([night(made, workers) for workers in asked.workers], asked.prompts)


if __name__ == "__main__":
    main()
