"""A finished run with everything to be found in it: a fair model, a biased one, one that declines."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.scenario.scenario import resolve
from biasgrid.warehouse.storage.lake import Lake
from support.paths import ROOT
from support.plain_runs import run_benchmark

SCENARIO: dict[str, Any] = {
    "name": "small",
    "scenario": {
        "models": ["simulated/fair", "simulated/biased", "simulated/refuser"],
        "templates": 12,
        "seed": 7,
        "temperature": 1.0,
        "max_tokens": 60,
        "retries": 0,
    },
    "requirements": [
        {
            "name": f"{concern}-alike",
            "concern": concern,
            "languages": ["en_us"],
            "tolerance": 0.9,
            "delta": 0.02,
            "communities": communities,
        }
        for concern, communities in (("sexism", "gender"), ("ageism", "age"))
    ],
}


@pytest.fixture(scope="session")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake.open(tmp_path_factory.mktemp("analysed") / "data")
    asyncio.run(run_benchmark(lake, resolve(SCENARIO)))
    return lake


@pytest.fixture(scope="session")
def docs() -> Path:
    return ROOT / "docs"
