"""How much sooner a night ends with more workers, where it is the models' time that counts.

    python tests/performance/sharding.py [--layout eight one two] [--workers 1 2 4] [--prompts N] [--latency S]

Layouts: `eight` models of equal size, each with a concurrency of its own; `one` model, of whose provider's limit,
as an operator set it, each process leases a part; `two` providers, of whose limits one feeds four processes and
the other one. Few prompts that take long keep a worker as long as many that take short, with less processor time.

A real Prefect server, on PostgreSQL where Debian's package is installed, and process workers, which take one shard
at a time; the night itself has one of its own. Counted is the whole night, from its hand-in to its end; in it the
time from the first shard's beginning to the last one's end, what workers were idle while a shard was open that its
limit would have fed, and waits for slots.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from rig import options
from rig.endpoint import Behaviour
from rig.loopback import Loopback, loopback
from rig.runs import home_environment
from rig.scenario import Written, write_scenario
from rig.table import at_least, at_most, table

from biasgrid.deployments.processes import Claim, Process, end_in_order, hold_claim, start_process
from biasgrid.deployments.work_pools import NIGHTS, SHARDS
from support.machines import Postgres, postgres_server
from support.prefect_server import PrefectServer, prefect_server

CONCURRENCY = 16
"""Of one process."""
BOUNDS = {2: 1.8, 4: 3.3}
PATIENCE_S = 7200.0


@dataclass(frozen=True)
class Layout:
    """Models, and the limits of their providers that an operator has set; without, each model has its own."""

    about: str
    models: Sequence[str]
    limits: Mapping[str, int] = field(default_factory=dict)

    def scope_of(self, model: str) -> str:
        provider = model.partition("/")[0]
        return provider if self.limits else model

    def fed(self, scope: str) -> int:
        """How many processes a limit feeds."""
        return self.limits.get(scope, CONCURRENCY) // CONCURRENCY


LAYOUTS = {
    "eight": Layout("eight models", [f"loopback/m{number}" for number in range(8)]),
    "one": Layout("one model", ["loopback/m0"], {"loopback": 4 * CONCURRENCY}),
    "two": Layout(
        "two providers, whose limits feed four processes and one",
        ["narrow/m0", "loopback/m1", "loopback/m2", "loopback/m3"],
        {"loopback": 4 * CONCURRENCY, "narrow": CONCURRENCY},
    ),
}


@dataclass(frozen=True)
class Site:
    layout: Layout
    server: PrefectServer
    postgres: Postgres | None
    endpoint: Loopback
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
        while True:
            try:
                with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:  # SQLite stalls when backlogged
                    return json.loads(answer.read())
            except urllib.error.HTTPError as refused:
                if refused.code < HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise
            time.sleep(1)  # its database takes long under load


@contextmanager
def site(layout: Layout, prompts: int, latency_s: float) -> Iterator[Site]:
    """An endpoint, a server and the deployments on it."""
    behaviour = Behaviour(latency_s=latency_s)
    with tempfile.TemporaryDirectory() as name, loopback(behaviour) as endpoint, postgres_server() as postgres:
        folder = Path(name)
        each = prompts // len(layout.models)
        written = write_scenario(folder / "asked", endpoint.base_url, each, CONCURRENCY, coverage=0.5)
        _declare_models(written, layout)
        database = {"PREFECT_API_DATABASE_CONNECTION_URL": postgres.url} if postgres else {}
        with (
            prefect_server(folder / "home", {**os.environ, **database}) as server,
            hold_claim(folder / "claim") as claim,
        ):
            made = Site(layout, server, postgres, endpoint, written, folder, claim)
            made.do("biasgrid.deployments")
            made.do("prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(_declaration(made)))
            for scope, limit in layout.limits.items():
                made.ask("/v2/concurrency_limits/", {"name": f"biasgrid:{scope}", "limit": limit})
            yield made


def _declare_models(written: Written, layout: Layout) -> None:
    given = json.loads(written.scenario.read_text())
    given["scenario"]["models"] = layout.models
    written.scenario.write_text(json.dumps(given))
    file = written.catalog / "models.yaml"
    found = json.loads(file.read_text())
    found["providers"] |= dict.fromkeys(layout.limits, found["providers"]["loopback"])
    if not layout.limits:
        found["models"] = {model: {"limits": {"concurrency": CONCURRENCY}} for model in layout.models}
    file.write_text(json.dumps(found))


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
class Asked:
    """One shard: its scope, when its process began and ended, and how long that took to start."""

    scope: str
    begun: float
    over: float
    start_s: float


@dataclass(frozen=True)
class Night:
    workers: int
    whole_s: float
    """From hand-in to end."""
    shards: Sequence[Asked]
    idle_s: float
    """Of workers, while a shard was to be asked that its limit would have fed."""
    waits: int
    """How often a shard waited for slots."""

    @property
    def asking_s(self) -> float:
        return max(one.over for one in self.shards) - min(one.begun for one in self.shards)

    @property
    def row(self) -> list[object]:
        count = len(self.shards)
        starts, lengths = (sum(values) / count for values in (self._starts, self._lengths))
        return [self.workers, self.whole_s, self.asking_s, count, lengths, starts, self.idle_s, self.waits]

    @property
    def _starts(self) -> list[float]:
        return [one.start_s for one in self.shards]

    @property
    def _lengths(self) -> list[float]:
        return [one.over - one.begun for one in self.shards]


def night(made: Site, workers: int, prompts: int) -> Night:
    processes: list[Process] = []
    made.endpoint.forget()
    with end_in_order(processes):
        processes += [made.worker(NIGHTS, 0)]
        processes += [made.worker(SHARDS, nth, "--limit", "1") for nth in range(workers)]
        time.sleep(10)  # until all of them ask for work
        deployment = made.ask("/deployments/name/nightly/nightly")["id"]
        begun = made.ask(f"/deployments/{deployment}/create_flow_run", {})["id"]
        ended = _ended_run(made, begun)
        assert ended["state_type"] == "COMPLETED", ended["state"]["message"]
        received = made.endpoint.traffic().received
        assert received == prompts, f"{received:,} requests for {prompts:,} prompts"
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
    shards = [_read_shard(made, one) for one in found if one["name"].startswith("shard")]
    assert {one.scope for one in shards} == {*map(made.layout.scope_of, made.layout.models)}
    whole_s = _at(ended["end_time"]) - _at(ended["created"])
    return Night(workers, whole_s, shards, measure_idle(made.layout, shards, workers), _count_waits(made, found))


def _read_shard(made: Site, shard: dict[str, Any]) -> Asked:
    states = made.ask(f"/flow_run_states/?flow_run_id={shard['id']}")
    taken = next(_at(one["timestamp"]) for one in states if one["type"] == "PENDING")
    begun = _at(shard["start_time"])
    return Asked(
        made.layout.scope_of(shard["parameters"]["models"][0]), taken, _at(shard["end_time"]), begun - taken
    )


def _count_waits(made: Site, found: Sequence[dict[str, Any]]) -> int:
    ids = {"flow_run_id": {"any_": [one["id"] for one in found]}}
    lines = made.ask("/logs/filter", {"logs": {**ids, "text": {"query": '"waiting for a slot"'}}, "limit": 200})
    return len(lines)


def measure_idle(layout: Layout, shards: Sequence[Asked], workers: int) -> float:
    """Seconds of workers without a shard, each, while one was to be asked that its limit would have fed."""
    moments = sorted({moment for one in shards for moment in (one.begun, one.over)})
    idle_s = 0.0
    for start, end in pairwise(moments):
        active = Counter(one.scope for one in shards if one.begun <= start < one.over)
        open_ones = Counter(one.scope for one in shards if one.begun > start)
        room = sum(min(count, layout.fed(scope) - active[scope]) for scope, count in open_ones.items())
        idle_s += (end - start) * min(max(0, workers - active.total()), max(0, room))
    return idle_s


def _at(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


def report(layout: Layout, nights: Sequence[Night], asked: argparse.Namespace) -> None:
    one = nights[0].whole_s
    rows = [[*night.row, one / night.whole_s] for night in nights]
    columns = ("workers", "night s", "asking s", "shards", "one s", "its start s", "idle s", "waits", "times one")
    each = f"{CONCURRENCY} at once of {1000 * asked.latency:.0f} ms in a process"
    about = f"{layout.about}, {asked.prompts:,} prompts, {each}"
    print(table(about, columns, rows))
    for night in nights:
        if nights[0].workers == 1 and night.workers in BOUNDS:
            print(at_least(f"{night.workers} workers against one", one / night.whole_s, BOUNDS[night.workers]))
        print(at_most(f"{night.workers} workers: shards that waited for slots", night.waits, 0))


def main() -> None:
    asked = options(
        __doc__,
        layout={"nargs": "+", "choices": [*LAYOUTS], "default": [*LAYOUTS]},
        workers={"type": int, "nargs": "+", "default": [1, 2, 4]},
        prompts={"type": int, "default": 40_000, "help": "Of all models together."},
        latency={"type": float, "default": 0.4, "help": "Seconds of each request."},
    )
    for name in asked.layout:
        with site(LAYOUTS[name], asked.prompts, asked.latency) as made:
            nights = [night(made, workers, asked.prompts) for workers in asked.workers]
            report(LAYOUTS[name], nights, asked)


if __name__ == "__main__":
    main()
