"""A drill: a run in batches is killed at random moments; each request reaches the provider in one batch."""

import random
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import polars as pl
import pytest

from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.simulated.server.delivery import digest_messages
from biasgrid.warehouse.storage.runs import all_runs
from support.processes import kill_group, wait_until

pytestmark = pytest.mark.drill

SEED = 20_261_121
KILLS = 6


@pytest.fixture
def served(gateway: Any) -> Any:
    """A provider whose batches hold five requests at most, so that a run has many of them."""
    behaviour = {"failures": {"default": 0.2}, "batch_s": 1.0, "batch_failures": 0.1, "faults": {"most": 1}}
    return gateway("batched", {"batch": {"requests": 5}}, **behaviour)


def killed_after(paths: list[str], more: int, late_s: float, process: subprocess.Popen[str]) -> bool:
    """Kills the process so long after it has made so many more calls; False where it ended before."""
    enough = len(paths) + more
    wait_until(lambda: len(paths) >= enough or process.poll() is not None, every_s=0.002)
    time.sleep(late_s)
    is_running = process.poll() is None
    kill_group(process)
    return is_running


def digest_of(case: dict[str, Any]) -> str:
    return digest_messages([Message(message["role"], message["content"]) for message in case["messages"]])


def test_kills_at_random_moments_pay_nothing_twice_and_lose_nothing(served, shell, scenario_file):
    chance = random.Random(SEED)
    killed, undisturbed = (shell(name, BIASGRID_BATCH_POLL_S="0.1") for name in ("killed", "undisturbed"))
    path = scenario_file(["gateway/batched"], templates=5, batch=True)
    kept: set[str] = set()
    for kill in range(KILLS):
        process = killed.start(*(("resume",) if all_runs(killed.lake) else ("run", path)))
        more, late_s = chance.randint(1, 30), chance.uniform(0, 0.05)
        sys.stdout.write(f"kill {kill + 1}: {late_s:.3f} s after call {more}\n")
        if not killed_after(served.paths, more, late_s, process):
            break
        landed = set(killed.lake.read("responses").filter(pl.col("text").is_not_null())["response_id"])
        assert kept <= landed
        kept = landed

    if all_runs(killed.lake)[-1].state != "completed":
        killed.complete("resume")
    cases = killed.lake.read("cases").unique("request_key")
    answers = Counter(entry.messages for entry in served.journal.entries if entry.outcome == "answered")
    assert answers == Counter(map(digest_of, cases.to_dicts()))
    assert all(entry.batch for entry in served.journal.entries)
    replies = killed.lake.read("responses").filter(pl.col("text").is_not_null())
    assert sorted(replies["request_key"]) == sorted(cases["request_key"])
    assert kept <= set(replies["response_id"])
    assert set(killed.lake.newest("jobs")["state"]) <= {"collected"}

    undisturbed.complete("run", path)
    assert killed.findings() == undisturbed.findings()
