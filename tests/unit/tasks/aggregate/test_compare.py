"""What differs between two runs besides their replies, each difference by its name."""

import json
from datetime import UTC, datetime
from typing import Any

import polars as pl

from biasgrid.tasks.aggregate.compare import circumstances
from biasgrid.tasks.aggregate.run_selector import Chosen
from biasgrid.warehouse.storage.runs import Run


def judged_side(
    scenario: dict[str, Any], files: dict[str, str], judged_by: dict[str, str] | None = None
) -> Chosen:
    run = Run(
        run_id="R1",
        state="completed",
        kind="benchmark",
        scenario_given="",
        scenario_resolved=json.dumps(scenario),
        catalog_hashes=json.dumps(files),
        versions=json.dumps({"polars": "2.1.0"}),
        seed=7,
        started_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    reported = {"catalog_hashes": [json.dumps(judged_by) if judged_by else None], "versions": [None]}
    return Chosen(run, "E1", ("E1",), pl.DataFrame(reported, schema=dict.fromkeys(reported, pl.String)))


def requirement(name: str, **keys: Any) -> dict[str, Any]:
    return {"name": name, "languages": ["en_us"], "tolerance": 0.9, **keys}


def test_settings_and_requirements_are_known_by_their_names_and_tolerances_by_the_evaluation():
    earlier = {"scenario": {"seed": 1, "samples": 1}, "requirements": [requirement("a"), requirement("gone")]}
    later = {
        "scenario": {"seed": 2, "samples": 1},
        "requirements": [requirement("new"), requirement("a", languages=["es_es"], tolerance=0.5)],
    }
    reported = circumstances(judged_side(earlier, {}), judged_side(later, {}))
    assert reported.rows() == [
        ("scenario", "seed", "1", "2"),
        ("scenario", "a: languages", '["en_us"]', '["es_es"]'),
    ]


def test_catalog_files_are_those_that_the_evaluation_judged_by():
    files = {"kept.yaml": "1", "changed.yaml": "2", "gone.yaml": "3"}
    later = judged_side({}, files, {"kept.yaml": "1", "changed.yaml": "4", "new.yaml": "5"})
    assert circumstances(judged_side({}, files), later).rows() == [
        ("catalog", "changed.yaml", "2", "4"),
        ("catalog", "gone.yaml", "3", None),
        ("catalog", "new.yaml", None, "5"),
    ]
