"""What the stages see to before a cell starts, without Prefect."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.scenario.scenario import ResolvedScenario, resolve
from biasgrid.flows.runs.cell_groups import TASK_RUNS, group_cells, group_label, shared_by
from biasgrid.flows.runs.cells import refuse_changed_models
from biasgrid.flows.runs.context import Grid
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.concurrency import first_cause, run_concurrently
from biasgrid.tasks.connectors.task import NAME
from biasgrid.tasks.generate.cases import land_cases
from biasgrid.tasks.generate.instantiate import instances
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import begin_run, planned_cells, record_planned

SCENARIO = {
    "scenario": {"models": ["simulated/mine"], "templates": 2},
    "requirements": [{"name": "r", "concern": "sexism", "languages": ["en_us"]}],
}


def define(overlay: Path, failures: float) -> None:
    folder = overlay / "respondents"
    folder.mkdir(parents=True, exist_ok=True)
    text = f"id: mine\ndescription: Of a test.\nfailures: {{default: {failures}}}\n"
    (folder / "mine.yaml").write_text(text, encoding="utf-8")


def planned(lake: Lake, resolved: ResolvedScenario) -> Grid:
    run = begin_run(lake, resolved.given, resolved.as_json(), resolved.catalog.hashes, 0)
    settings, catalog = resolved.settings, resolved.catalog
    asked = instances(resolved.requirements[0], "en_us", catalog, settings)
    cells = land_cases(lake, run.run_id, asked, resolved.targets.values(), settings, catalog)
    record_planned(lake, run.run_id, cells)
    return Grid(lake, run, resolved, ModelPool(catalog))


def test_a_model_that_changed_since_its_cases_were_planned_is_not_asked_under_their_keys(tmp_path, monkeypatch):
    monkeypatch.setenv("BIASGRID_CATALOG", str(tmp_path / "overlay"))
    define(tmp_path / "overlay", 0.1)
    lake = Lake.open(tmp_path / "data")
    grid = planned(lake, resolve(SCENARIO))
    cells = planned_cells(lake, grid.run.run_id)
    refuse_changed_models(grid, cells)
    define(tmp_path / "overlay", 0.9)
    changed = Grid(lake, grid.run, resolve(SCENARIO), grid.model_pool)
    with pytest.raises(UserError, match="`simulated/mine` is not what it was when the run began"):
        refuse_changed_models(changed, cells)


def test_braces_in_a_name_reach_prefect_as_they_are():
    cell = {"model": "replay/{x}", "concern": "sexism", "language": "en_us", "input": "a", "reflection": "b"}
    label = group_label("prompt", [cell | {"requirement": "equal"}])
    assert NAME.format(label=label) == "prompt · {x} · sexism · en_us · a · b"
    assert label.tags == ("replay/{x}", "sexism", "en_us", "requirement:equal")


def cells_of(count: int) -> list[dict[str, str]]:
    asked = {"model": "replay/x", "language": "en_us", "input": "a", "reflection": "b"}
    return [asked | {"cell_id": f"c{n}", "concern": f"t{n % 2}", "requirement": f"r{n}"} for n in range(count)]


@pytest.mark.parametrize(("total", "size"), [(1, 1), (TASK_RUNS, 1), (TASK_RUNS + 1, 2), (20_000, 100)])
def test_cells_share_task_runs_where_there_are_hundreds(total, size):
    assert shared_by(total) == size
    groups = group_cells(cells_of(total), size)
    assert [cell for group in groups for cell in group] == cells_of(total)
    assert len(groups) <= TASK_RUNS
    assert max(map(len, groups)) <= size


def test_a_group_is_named_by_what_its_cells_have_in_common():
    label = group_label("prompt", cells_of(3), ["run:1"])
    assert label.name == "prompt · x · en_us · a · b · 3 cells"
    requirements = ("requirement:r0", "requirement:r1", "requirement:r2")
    assert label.tags == ("run:1", "replay/x", "t0", "en_us", "t1", *requirements)


def test_a_signal_is_what_ended_the_cells_wherever_it_struck():
    inner = BaseExceptionGroup("inner", [OSError("full"), KeyboardInterrupt()])
    assert isinstance(first_cause(BaseExceptionGroup("outer", [ValueError(), inner])), KeyboardInterrupt)
    assert isinstance(first_cause(BaseExceptionGroup("outer", [OSError("full"), ValueError()])), OSError)


async def test_a_failure_ends_its_siblings_before_it_is_reported():
    ended: list[str] = []

    async def goes_on() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("beside it")

    async def breaks() -> None:
        await asyncio.sleep(0)
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        await run_concurrently([goes_on(), run_concurrently([breaks()])])
    assert ended == ["beside it"]


async def test_results_come_in_the_order_in_which_they_were_asked_for():
    first = asyncio.Event()

    async def later() -> str:
        await first.wait()
        return "asked first"

    async def sooner() -> str:
        first.set()
        return "asked second"

    assert await run_concurrently([later(), sooner()]) == ["asked first", "asked second"]
