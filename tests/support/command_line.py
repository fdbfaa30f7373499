"""The command as a person types it, and a finished run to look at."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.scenario.scenario import resolve
from biasgrid.flows.cli import main
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.evaluate.cell import evaluate_cell
from biasgrid.tasks.generate.cases import land_cases
from biasgrid.tasks.generate.instantiate import instances
from biasgrid.tasks.prompt.prompt import prompt_cell
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import begin_run, record_planned


@dataclass(frozen=True)
class Told:
    """How a command ended and what it said."""

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


Command = Callable[..., Told]


@pytest.fixture
def biasgrid(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command in process: `biasgrid("plan", path)`."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("BIASGRID_DATA", raising=False)

    def run(*words: object) -> Told:
        monkeypatch.setattr(sys, "argv", ["biasgrid", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Told(int(ended.value.code or 0), said.out, said.err)

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
    return Finished(lake.root, *asyncio.run(_run(lake, scenario(["simulated/fair", "simulated/constant-no"]))))


async def _run(lake: Lake, asked: dict[str, Any]) -> tuple[str, int]:
    resolved = resolve(asked)
    catalog, settings = resolved.catalog, resolved.settings
    run = begin_run(lake, resolved.given, resolved.as_json(), catalog.hashes, settings.seed)
    frame = instances(resolved.requirements[0], "en_us", catalog, settings)
    cells = land_cases(lake, run.run_id, frame, resolved.targets.values(), settings, catalog)
    record_planned(lake, run.run_id, cells)
    rules = resolved.requirements[0].model_dump(include={"tolerance", "delta", "refusals", "max_refusals"})
    keys = {"run_id": run.run_id, "evaluation_id": run.run_id, "requirement": "genders-alike", "concern": "sexism"}
    row = {**keys, **rules, "coverage": settings.coverage, "recorded_at": datetime.now(UTC)}
    lake.write("criteria", run.run_id, run.run_id, pl.DataFrame([row]))
    async with ModelPool(catalog) as model_pool:
        for cell in cells.to_dicts():
            cases = lake.read("cases", run.run_id, cell["cell_id"])
            await prompt_cell(lake, cases, resolved.targets[cell["model"]], model_pool, retries=0)
            await evaluate_cell(lake, run.run_id, cell["cell_id"], run.run_id, catalog)
    run.record(lake, "completed")
    build(lake)
    return run.run_id, int(cells["planned"].sum())
