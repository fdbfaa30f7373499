"""The command as a person types it, and a finished run to look at."""

import asyncio
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.scenario.scenario import resolve
from biasgrid.flows.cli import main
from biasgrid.warehouse.storage.lake import Lake
from support.plain_runs import run_benchmark


@dataclass(frozen=True)
class CommandResult:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    def is_a_mistake(self, *parts: str) -> bool:
        """One message on stderr, no traceback, nothing on stdout, exit code 2, and every part of it there."""
        assert (self.code, self.out) == (2, ""), self
        assert self.err.startswith("biasgrid: "), self.err
        assert "Traceback" not in self.err
        for part in parts:
            assert part in self.err, f"{part!r} is not in: {self.err}"
        return True


Command = Callable[..., CommandResult]


@pytest.fixture
def biasgrid(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command in process: `biasgrid("plan", path)`."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("BIASGRID_DATA", raising=False)

    def run(*words: object) -> CommandResult:
        monkeypatch.setattr(sys, "argv", ["biasgrid", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        return CommandResult(int(ended.value.code or 0), output.out, output.err)

    return run


@dataclass(frozen=True)
class Finished:
    data: Path
    run_id: str
    cases: int


@pytest.fixture(scope="session")
def finished(scenario: Callable[..., dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A run that has been prompted, evaluated and aggregated, without Prefect."""
    lake = Lake(tmp_path_factory.mktemp("finished"))
    models = ["simulated/fair", "simulated/constant-no"]
    run_id = asyncio.run(run_benchmark(lake, resolve(scenario(models))))
    return Finished(lake.root, run_id, lake.read("cases", run_id).height)


@pytest.fixture
def lake(finished: Finished, tmp_path: Path) -> Lake:
    """A copy of the finished run, in a lake of the test's own."""
    shutil.copytree(finished.data, tmp_path / "data")
    return Lake(tmp_path / "data")
