"""A requirement over several concerns: one finding of one pool, whose cases keep their own concerns."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.scenario.scenario import resolve
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake
from support.plain_runs import run_benchmark

CONCERNS = {"sexism", "racism", "xenophobia", "religion", "lgtbiqphobia"}
POOL = {
    "name": "pool",
    "concerns": sorted(CONCERNS),
    "sector": "education",
    "languages": ["en_us"],
    "measure": "replies",
    "inputs": ["constrained"],
}
ALONE = {"name": "alone", "concern": "sexism", "sector": "education", "languages": ["en_us"]}
SCENARIO = {"scenario": {"models": ["simulated/fair"], "templates": 12}, "requirements": [POOL, ALONE]}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = Lake.open(tmp_path_factory.mktemp("pooled") / Path("data"))
    asyncio.run(run_benchmark(made, resolve(SCENARIO)))
    return made


def rows(lake: Lake, sql: str) -> list[dict[str, Any]]:
    return query(lake, sql).to_dicts()


def test_cases_of_a_pool_keep_their_own_concern(lake):
    sql = "select distinct concern from staging.stg_cases where requirement = 'pool'"
    assert {row["concern"] for row in rows(lake, sql)} == CONCERNS


def test_a_pool_has_one_cell_for_each_input_and_reflection(lake):
    cells = rows(lake, "select concern, reflection from marts.pass_rates where requirement = 'pool'")
    assert sorted((cell["concern"], cell["reflection"]) for cell in cells) == [
        ("several", "observational"),
        ("several", "utopian"),
    ]
    planned = lake.read("cells")
    assert planned["cell_id"].n_unique() == planned.filter(state="planned").height


def test_a_pool_has_one_finding(lake):
    found = rows(lake, "select requirement, concern from marts.requirement_findings order by all")
    assert found == [
        {"requirement": "alone", "concern": "sexism"},
        {"requirement": "pool", "concern": "several"},
    ]
