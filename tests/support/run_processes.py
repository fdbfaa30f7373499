"""Runs as processes of their own: started, watched, stopped, and what they left read back."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, all_runs
from support.prefect_server import migrated_home
from support.processes import BIASGRID, PATIENCE_S, clean_environment, kill_group, wait_until

LATENCY_MS, AT_ONCE = 250, 8


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
        return self._process(*BIASGRID, *words, "--data", self.data)

    def start_flow(self, scenario: Path) -> subprocess.Popen[str]:
        """The flow alone, as Prefect's workers start it."""
        return self._process(
            sys.executable,
            "-c",
            "import asyncio, sys; from biasgrid.flows.benchmark.flow import benchmark; "
            "asyncio.run(benchmark(scenario=sys.argv[1], data=sys.argv[2]))",
            scenario,
            self.data,
        )

    def _process(self, *command: object) -> subprocess.Popen[str]:
        catalog = os.environ.get("BIASGRID_CATALOG", "")
        return subprocess.Popen(
            [*map(str, command)],
            env={**clean_environment("OPENAI_", "COLUMNS", BIASGRID_CATALOG=catalog), **self.environment},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def kill(self, server: Any, requests: int, *words: object) -> None:
        """Starts a command, and kills it once `server` has had so many requests in all."""
        process = self.start(*words)
        wait_for_requests(server, requests, process)
        kill_group(process)

    def finish(self, *words: object) -> tuple[int, str, str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=2 * PATIENCE_S)
        return process.returncode, out, err

    def complete(self, *words: object) -> tuple[str, str]:
        """As `finish`, of a command that must end with findings, whatever they are."""
        code, out, err = self.finish(*words)
        assert code in (0, 1), err
        return out, err

    def run(self) -> Run:
        (found,) = all_runs(self.lake)
        return found

    def journals(self) -> list[Path]:
        return list(self.lake.root.glob("journal/*/*.jsonl"))

    def arrived_replies(self) -> dict[str, tuple[str, str]]:
        """request_key → (response_id, text) of every reply in a Parquet file or on a whole line of a journal."""
        return {key: (response_id, text) for key, response_id, text in self._arrived()}

    def arrived_texts(self) -> dict[str, str]:
        """response_id → text, as of `arrived_replies`, of runs that ask the same as well."""
        return {response_id: text for _, response_id, text in self._arrived()}

    def _arrived(self) -> list[tuple[str, str, str]]:
        landed = self.lake.read("responses").select("request_key", "response_id", "text").rows()
        lines = [line for path in self.journals() for line in path.read_bytes().splitlines(True)]
        rows = [row for row in map(_whole, lines) if row is not None]
        landed += [(row["request_key"], row["response_id"], row["text"]) for row in rows]
        return [row for row in landed if row[2] is not None]

    def prompts(self) -> dict[str, str]:
        """request_key → what is asked."""
        cases = self.lake.read("cases").to_dicts()
        return {case["request_key"]: case["messages"][-1]["content"] for case in cases}

    def findings(self) -> list[dict[str, Any]]:
        """The marts without what differs from run to run."""
        result = "* exclude (run_id, evaluation_id, started_at, judged_at)"
        rates = query(self.lake, f"select {result} from marts.pass_rates order by all").to_dicts()
        return rates + query(self.lake, f"select {result} from marts.requirement_findings order by all").to_dicts()


def wait_for_requests(server: Any, requests: int, process: subprocess.Popen[str]) -> None:
    """Waits until `server` has had so many requests in all."""
    wait_until(lambda: len(server.bodies) >= requests, process)


def _whole(line: bytes) -> dict[str, Any] | None:
    """A journal's line; None where a kill or a full disk tore it."""
    try:
        row: dict[str, Any] = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return row if line.endswith(b"\n") else None


@pytest.fixture
def shell(tmp_path: Path, prefect_server: str) -> Callable[..., Shell]:
    """`shell(name, **environment)`: processes that report to the server of the tests, or, where `served` is False,
    to a temporary one of their own. `place` is their data directory, by default a folder of their own."""

    def make(name: str, place: Path | str | None = None, *, served: bool = True, **environment: str) -> Shell:
        folder = tmp_path / name
        folder.mkdir()
        prefect = (
            {"PREFECT_API_URL": prefect_server}
            if served
            else {"PREFECT_HOME": str(migrated_home(folder / "prefect"))}
        )
        return Shell(folder, prefect | environment, place)

    return make


@pytest.fixture
def slow(gateway: Any) -> Any:
    """The biased respondent over HTTP, a quarter of a second away, eight requests at once."""
    limits = {"concurrency": AT_ONCE}
    return gateway("slow", {"limits": limits}, latency_ms=LATENCY_MS, failures={"default": 0.2})


@pytest.fixture
def asked(scenario_file: Any, requirement: Any) -> Path:
    """A scenario of 8 s and more: 32 requests a second are answered."""
    both = [requirement(), requirement(name="colors-alike", concern="racism", communities="skin_color")]
    path: Path = scenario_file(["gateway/slow"], both, templates=6)
    return path
