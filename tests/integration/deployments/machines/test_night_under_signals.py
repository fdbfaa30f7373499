"""The drill: a night whose workers, shards and servers are asked to end or killed at random moments, by a provider
that notes every request.

`BIASGRID_DRILL_MOMENTS` is how often, 4 in `make drill`; what is struck, and when, follows from a seed.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from biasgrid.flows.operations.parent_watch import children
from biasgrid.flows.scheduled.turns import run_id_of
from support.night_site import Asked, Site, night_site
from support.processes import wait_until

pytestmark = pytest.mark.drill

SEED = 20_261_126
MOMENTS = int(os.environ.get("BIASGRID_DRILL_MOMENTS", "4"))
LATENCY_MS, AT_ONCE = 2000, 4
LONGEST_S = 10.0
"""Between two moments."""
MISSED_S = 60
"""Without a heartbeat for so long a run is lost; hardly less is sensible: Prefect sends one every 30."""
NIGHT_S = 900.0
QUIET_S = 15.0
"""An alarm that comes at all comes within it."""
WORKERS = ("first", "second")
KINDS = (
    ("shard", signal.SIGTERM),
    ("shard", signal.SIGKILL),
    ("worker", signal.SIGTERM),
    ("worker", signal.SIGKILL),
    ("machine", signal.SIGKILL),
    ("server", signal.SIGTERM),
    ("server", signal.SIGKILL),
    ("night", signal.SIGTERM),
)
"""What is struck by which signal; with a `machine`, a worker and its shard at once."""
LOSING = (("shard", signal.SIGKILL), ("machine", signal.SIGKILL))
"""Those at which requests in flight are lost."""


@dataclass
class Strikes:
    """Strikes one after the other, and starts again what ended, as a service manager does."""

    site: Site
    chance: random.Random
    struck: Counter[tuple[str, signal.Signals]] = field(default_factory=Counter)
    arrived: set[str] = field(default_factory=set)
    """Ids of replies that had arrived when something was killed."""
    left: set[int] = field(default_factory=set)
    """Runs that go on although their worker was killed."""

    def start(self, name: str) -> None:
        pool = "biasgrid-nights" if name == "nights" else "biasgrid"
        self.site.machine.work(pool, "--limit", "1", "--name", name)

    def strike(self, what: str, number: signal.Signals) -> None:
        if what == "server":
            self.site.server.restart(number)
        elif what == "night":
            self._end(self._worker("nights"), number)
        else:
            worker, shard = self._busy_worker()
            if what in ("shard", "machine"):
                os.killpg(shard, number)
            elif number == signal.SIGKILL:
                self.left.add(shard)
            if what in ("worker", "machine"):
                self._end(worker, number)
        self.struck[what, number] += 1
        self.arrived |= {row["response_id"] for row in self._journaled() if row["text"] is not None}

    def _worker(self, name: str) -> subprocess.Popen[Any]:
        (found,) = [one for one in self.site.machine.processes if one.args[-1] == name]
        return found

    def _busy_worker(self) -> tuple[subprocess.Popen[Any], int]:
        """A worker and a run of its."""

        def busy() -> list[tuple[subprocess.Popen[Any], int]]:
            every = [(self._worker(name), pid) for name in WORKERS for pid in children(self._worker(name).pid)]
            return [(worker, pid) for worker, pid in every if _group_of(pid) == pid]

        return self.chance.choice(wait_until(busy, every_s=0.1))

    def _end(self, worker: subprocess.Popen[Any], number: signal.Signals) -> None:
        worker.send_signal(number)
        worker.wait(120)
        self.site.machine.processes.remove(worker)
        self.start(str(worker.args[-1]))

    def _journaled(self) -> Iterator[dict[str, Any]]:
        for path in self.site.lake.root.glob("journal/*/*.jsonl"):
            with suppress(FileNotFoundError):  # it became Parquet
                for line in path.read_bytes().splitlines(keepends=True):
                    if line.endswith(b"\n"):
                        yield orjson.loads(line)

    def end_left(self) -> None:
        for group in self.left:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


def _group_of(pid: int) -> int | None:
    with suppress(ProcessLookupError):
        return os.getpgid(pid)
    return None


@pytest.fixture(scope="module")
def site(server: Any, postgres: Any, machine: Any, endpoint: Any, place: Any) -> Iterator[Site]:
    if postgres is None:
        pytest.skip("PostgreSQL is not on this machine (install Debian's postgresql)")
    models = [f"m{number}" for number in range(1, 4 + MOMENTS // 4)]
    asked = Asked(
        *(models, LATENCY_MS, AT_ONCE, 8),
        # a shard may be struck more often than a night's own patience allows for
        parameters={"takeovers": MOMENTS},
        set_up=("--heartbeat-missed", str(MISSED_S)),
    )
    with night_site(server, machine, endpoint, place, asked) as made:
        yield made


@pytest.fixture(scope="module")
def strikes(site: Site) -> Iterator[Strikes]:
    made = Strikes(site, random.Random(SEED))
    for name in (*WORKERS, "nights"):
        made.start(name)
    yield made
    made.end_left()


@pytest.fixture(scope="module")
def night(site: Site, strikes: Strikes) -> Any:
    """The night's flow run when it has ended."""
    begun = site.server.start("nightly/nightly")
    wait_until(lambda: site.endpoint.asked, every_s=0.2)
    order = [kind for _ in range(0, MOMENTS, len(KINDS)) for kind in strikes.chance.sample(KINDS, len(KINDS))]
    for number, kind in enumerate(order[:MOMENTS]):
        before = len(site.endpoint.asked)
        if number % 2:  # else processes that start are struck as well
            wait_until(lambda so_far=before: len(site.endpoint.asked) > so_far, patience_s=NIGHT_S, every_s=0.1)
        time.sleep(strikes.chance.uniform(0, LONGEST_S))
        strikes.strike(*kind)
        sys.stdout.write(f"{len(site.endpoint.asked)} requests: {kind[0]} {kind[1].name}\n")
    assert site.server.ask(f"/flow_runs/{begun}")["end_time"] is None, "the night ended before it was struck"
    return site.server.wait_for_end(begun, NIGHT_S)


def test_it_completes(night):
    assert night["state_type"] == "COMPLETED", night["state"]["message"]


def test_nothing_is_lost(night, site, strikes):
    run_id = run_id_of(night["tags"])
    cases, replies = (site.lake.read(table, run_id) for table in ("cases", "responses"))
    assert replies["text"].null_count() == 0
    assert sorted(replies["case_id"]) == sorted(cases["case_id"])
    assert strikes.arrived <= {*replies["response_id"]}


def test_what_has_landed_is_never_asked_again_and_what_was_in_flight_once(night, site, strikes):
    run_id = run_id_of(night["tags"])
    cases = site.lake.read("cases", run_id)
    replies = site.lake.read("responses", run_id)
    landed = dict(zip(replies["case_id"], (at.timestamp() for at in replies["received_at"]), strict=True))
    for case in cases.to_dicts():
        asked = case["model"].partition("/")[2], case["messages"][-1]["content"]
        assert site.endpoint.last_asked[asked] <= landed[case["case_id"]]
    again = len(site.endpoint.asked) - cases.height
    struck = {f"{what} {number.name}": count for (what, number), count in sorted(strikes.struck.items())}
    sys.stdout.write(f"seed {SEED}: {struck}; {cases.height} cases, {again} asked again\n")
    assert 0 <= again <= AT_ONCE * sum(strikes.struck[kind] for kind in LOSING)


def test_the_only_alarm_is_that_of_another_night_which_cannot_begin(night, site):
    time.sleep(QUIET_S)
    site.server.wait_for_end(site.server.start("nightly/nightly", scenario="/nowhere/mine.yaml"), 120)
    wait_until(lambda: site.alarms, every_s=0.5)
    assert [subject.partition(": UserError")[0] for subject in site.alarms] == ["biasgrid broken: mine"]
