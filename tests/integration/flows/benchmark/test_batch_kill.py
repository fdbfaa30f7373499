"""A drill: a run in batches is killed at random moments; each request reaches the provider in one batch."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from starlette.types import ASGIApp, Receive, Scope, Send

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.simulated.server.app import RunningServer, build_app
from biasgrid.tasks.connectors.simulated.server.delivery import digest_messages
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import all_runs

pytestmark = pytest.mark.drill

SEED = 20_261_121
KILLS = 6
PATIENCE_S = 240.0
FOREIGN = ("BIASGRID_", "PREFECT_", "OPENAI_", "COLUMNS")


@dataclass
class Calls:
    """ASGI middleware: counts what is called, before it is answered."""

    app: ASGIApp
    paths: list[tuple[str, str]] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.paths.append((scope["method"], scope["path"]))
        await self.app(scope, receive, send)


@dataclass(frozen=True)
class Served:
    calls: Calls
    journal: Any


@pytest.fixture
def served(overlay: Any) -> Iterator[Served]:
    """A provider whose batches hold five requests at most, so that a run has many of them."""
    ways = {"failures": {"default": 0.2}, "batch_s": 1.0, "batch_failures": 0.1, "faults": {"most": 1}}
    batched = {"id": "batched", "description": "Biased.", **ways}
    app = build_app(load_catalog("shipped", overlay(respondents=(batched,))), "batched")
    calls = Calls(app)
    with RunningServer(calls) as running:  # type: ignore[arg-type]
        batch = {"requests": 5}
        gateway = {"connector": "openai", "base_url": f"{running.base_url}/v1", "models": "any", "batch": batch}
        overlay({"providers": {"gateway": gateway}}, respondents=(batched,))
        yield Served(calls, app.state.journal)


@dataclass(frozen=True)
class Shell:
    """Starts `biasgrid` as a process of its own."""

    folder: Path
    prefect: str

    @property
    def lake(self) -> Lake:
        return Lake(self.folder / "data")

    def start(self, *words: str) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        own = {"BIASGRID_CATALOG": os.environ["BIASGRID_CATALOG"], "BIASGRID_BATCH_POLL_S": "0.1"}
        return subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from biasgrid.flows.cli.process import run; run()",
                *words,
                "--data",
                str(self.lake.root),
            ],
            env={**kept, **own, "PREFECT_API_URL": self.prefect},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def finish(self, *words: str) -> tuple[int, str]:
        process = self.start(*words)
        _, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, err


def killed_after(calls: Calls, more: int, late_s: float, process: subprocess.Popen[str]) -> bool:
    """Kills the process so long after it has made so many more calls; False where it ended before."""
    enough, deadline = len(calls.paths) + more, time.monotonic() + PATIENCE_S
    while len(calls.paths) < enough and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    time.sleep(late_s)
    if process.poll() is not None:
        process.communicate()
        return False
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return True


def findings(lake: Lake) -> list[dict[str, Any]]:
    """The findings without what differs from run to run."""
    told = "* exclude (run_id, evaluation_id, started_at, judged_at)"
    return query(lake, f"select {told} from marts.requirement_findings order by all").to_dicts()


def asked(case: dict[str, Any]) -> str:
    return digest_messages([Message(message["role"], message["content"]) for message in case["messages"]])


def test_kills_at_random_moments_pay_nothing_twice_and_lose_nothing(served, scenario, tmp_path, prefect_server):
    chance = random.Random(SEED)
    (tmp_path / "killed").mkdir()
    shell = Shell(tmp_path / "killed", prefect_server)
    path = tmp_path / "batched.yaml"
    path.write_text(yaml.safe_dump(scenario(["gateway/batched"], templates=5, batch=True)), encoding="utf-8")
    kept: set[str] = set()
    for kill in range(KILLS):
        process = shell.start(*(("resume",) if all_runs(shell.lake) else ("run", str(path))))
        more, late_s = chance.randint(1, 30), chance.uniform(0, 0.05)
        sys.stdout.write(f"kill {kill + 1}: {late_s:.3f} s after call {more}\n")
        if not killed_after(served.calls, more, late_s, process):
            break
        landed = set(shell.lake.read("responses").filter(pl.col("text").is_not_null())["response_id"])
        assert kept <= landed
        kept = landed

    if all_runs(shell.lake)[-1].state != "completed":
        code, err = shell.finish("resume")
        assert code in (0, 1), err
    cases = shell.lake.read("cases").unique("request_key")
    answers = Counter(entry.messages for entry in served.journal.entries if entry.outcome == "answered")
    assert answers == Counter(map(asked, cases.to_dicts()))
    assert all(entry.batch for entry in served.journal.entries)
    replies = shell.lake.read("responses").filter(pl.col("text").is_not_null())
    assert sorted(replies["request_key"]) == sorted(cases["request_key"])
    assert kept <= set(replies["response_id"])
    assert set(shell.lake.newest("jobs")["state"]) <= {"collected"}

    (tmp_path / "undisturbed").mkdir()
    undisturbed = Shell(tmp_path / "undisturbed", prefect_server)
    code, err = undisturbed.finish("run", str(path))
    assert code in (0, 1), err
    assert findings(shell.lake) == findings(undisturbed.lake)
