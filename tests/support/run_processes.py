"""Runs as processes of their own: started, watched, stopped, and what they left read back."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, all_runs

PATIENCE_S = 120.0
LATENCY_MS, AT_ONCE = 250, 8
FOREIGN = ("BIASGRID_", "PREFECT_", "OPENAI_", "COLUMNS")


@dataclass
class Shell:
    """Starts `biasgrid` as a process of its own, in an environment of its own."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    place: Path | str | None = None

    @property
    def data(self) -> Path | str:
        return self.place or self.folder / "data"

    @property
    def lake(self) -> Lake:
        return Lake.at(self.data)

    def start(self, *words: object) -> subprocess.Popen[str]:
        return self._process("from biasgrid.flows.cli.process import run; run()", *words, "--data", self.data)

    def start_flow(self, scenario: Path) -> subprocess.Popen[str]:
        """The flow alone, as Prefect's workers start it."""
        return self._process(
            "import asyncio, sys; from biasgrid.flows.benchmark.flow import benchmark; "
            "asyncio.run(benchmark(scenario=sys.argv[1], data=sys.argv[2]))",
            scenario,
            self.data,
        )

    def _process(self, code: str, *words: object) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        return subprocess.Popen(
            [sys.executable, "-c", code, *map(str, words)],
            env={**kept, "BIASGRID_CATALOG": os.environ.get("BIASGRID_CATALOG", ""), **self.environment},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def finish(self, *words: object) -> tuple[int, str, str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out, err

    def run(self) -> Run:
        (found,) = all_runs(self.lake)
        return found

    def journals(self) -> list[Path]:
        return list(self.lake.root.glob("journal/*/*.jsonl"))

    def arrived(self) -> dict[str, tuple[str, str]]:
        """request_key → (response_id, text) of every reply in a Parquet file or on a whole line of a journal."""
        landed = self.lake.read("responses").select("request_key", "response_id", "text").rows()
        lines = [line for path in self.journals() for line in path.read_bytes().splitlines(True)]
        rows = [row for row in map(_whole, lines) if row is not None]
        landed += [(row["request_key"], row["response_id"], row["text"]) for row in rows]
        return {key: (response_id, text) for key, response_id, text in landed if text is not None}

    def prompts(self) -> dict[str, str]:
        """request_key → what is asked."""
        cases = self.lake.read("cases").to_dicts()
        return {case["request_key"]: case["messages"][-1]["content"] for case in cases}

    def findings(self) -> list[dict[str, Any]]:
        """The marts without what differs from run to run."""
        told = "* exclude (run_id, evaluation_id, started_at, judged_at)"
        rates = query(self.lake, f"select {told} from marts.pass_rates order by all").to_dicts()
        return rates + query(self.lake, f"select {told} from marts.requirement_findings order by all").to_dicts()


def _whole(line: bytes) -> dict[str, Any] | None:
    """A journal's line; None where a kill or a full disk tore it."""
    try:
        row: dict[str, Any] = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return row if line.endswith(b"\n") else None


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., Shell]:
    """`shell(name, **environment)`; `place` is where its data lies, a folder of its own by default."""

    def make(name: str, place: Path | str | None = None, **environment: str) -> Shell:
        (tmp_path / name).mkdir()
        return Shell(tmp_path / name, environment, place)

    return make


@pytest.fixture
def slow(serve: Any, overlay: Any) -> Any:
    """The biased respondent over HTTP, a quarter of a second away, eight requests at once."""
    biased = {
        "id": "slow",
        "description": "Biased and slow.",
        "latency_ms": LATENCY_MS,
        "failures": {"default": 0.2},
    }
    server = serve("slow", overlay=overlay(respondents=(biased,)))
    limits = {"concurrency": AT_ONCE}
    gateway = {"connector": "openai", "base_url": f"{server.base_url}/v1", "models": "any", "limits": limits}
    overlay({"providers": {"gateway": gateway}}, respondents=(biased,))
    return server


@pytest.fixture
def asked(scenario: Any, requirement: Any, tmp_path: Path) -> Path:
    """A scenario of 8 s and more: 32 requests a second are answered."""
    both = [requirement(), requirement(name="colors-alike", concern="racism", communities="skin_color")]
    path = tmp_path / "slow.yaml"
    path.write_text(yaml.safe_dump(scenario(["gateway/slow"], both, templates=6)), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def heard() -> Callable[[Any, int, subprocess.Popen[str]], None]:
    """Waits until a server has been sent so many requests in all: `heard(server, requests, process)`."""

    def wait(server: Any, requests: int, process: subprocess.Popen[str]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while len(server.bodies) < requests:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    return wait
