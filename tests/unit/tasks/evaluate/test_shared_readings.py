"""Complete cells that wait are read with the one whose turn it is: verdicts are those of each cell alone."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from biasgrid.catalogs.scenario.scenario import ResolvedScenario, resolve
from biasgrid.tasks.evaluate.cell import Evaluation, SharedReadings, evaluate_cells
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import planned_cells
from support.plain_runs import run_benchmark

SCENARIO = {
    "scenario": {"models": ["simulated/fair", "simulated/biased"], "templates": 4, "max_tokens": 60},
    "requirements": [{"name": "equal", "concern": "sexism", "languages": ["en_us", "es_es"]}],
}
WHEN = ("judged_at", "evaluation_id", "verdict_id")


@pytest.fixture(scope="module")
def resolved() -> ResolvedScenario:
    return resolve(SCENARIO)


@pytest.fixture
async def lake(tmp_path: Path, resolved: ResolvedScenario) -> Lake:
    lake = Lake.open(tmp_path)
    await run_benchmark(lake, resolved)
    return lake


def cells_of(lake: Lake) -> dict[str, int]:
    return dict(planned_cells(lake, lake.runs()[0]).select("cell_id", "planned").iter_rows())


async def evaluate(
    lake: Lake, resolved: ResolvedScenario, name: str, groups: Sequence[Sequence[str]]
) -> pl.DataFrame:
    """The verdicts on groups of cells that are all complete before the first is read."""
    readings = SharedReadings()
    readings.waiting |= cells_of(lake)
    evaluation = Evaluation(name, resolved.catalog, readings=readings)
    run_id = lake.runs()[0]
    await asyncio.gather(*(evaluate_cells(lake, run_id, group, evaluation) for group in groups))
    assert not readings.waiting
    return lake.read("verdicts", run_id, f"{name}-*").drop(WHEN).sort(pl.all())


async def test_cells_have_the_same_verdicts_alone_and_with_others(lake, resolved):
    cells = [*cells_of(lake)]
    alone = lake.read("verdicts", lake.runs()[0]).drop(WHEN).sort(pl.all())
    assert len(cells) > 4
    assert alone["outcome"].n_unique() > 1
    singles = await evaluate(lake, resolved, "E1", [[cell_id] for cell_id in cells])
    assert singles.equals(alone)
    groups = await evaluate(lake, resolved, "E2", [cells[:3], cells[3:]])
    assert groups.equals(alone)


async def test_what_could_not_be_read_is_read_again(lake, resolved):
    run_id, (first, second, *_) = lake.runs()[0], cells_of(lake)
    (broken,) = lake.files("responses", run_id, f"{second}-*")
    whole = broken.read_bytes()
    broken.write_bytes(whole[:100])
    readings = SharedReadings()
    readings.waiting |= {first: 1, second: 1}
    evaluation = Evaluation("E3", resolved.catalog, readings=readings)
    with pytest.raises((LakeDamaged, pl.exceptions.PolarsError)):
        await evaluate_cells(lake, run_id, [first], evaluation)
    broken.write_bytes(whole)
    for cell_id in (first, second):
        assert await evaluate_cells(lake, run_id, [cell_id], evaluation) > 0
