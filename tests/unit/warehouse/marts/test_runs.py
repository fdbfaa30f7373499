"""One row per run and per evaluation, and every verdict that was ever given."""

import json
from datetime import UTC, datetime
from hashlib import sha256

import polars as pl
import pytest

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.build.models import load_models
from biasgrid.warehouse.build.text_views import ALL
from biasgrid.warehouse.storage.lake import Lake

ENDED = datetime(2026, 3, 2, tzinfo=UTC)
SCENARIO = {"name": "nightly", "scenario": {"models": ["simulated/one"], "temperature": 0.5, "judge": "x/y"}}


@pytest.fixture(scope="module")
def judged_twice(tmp_path_factory, hand_made_in, cell, criterion, expected):
    """Run R1, which a second evaluation judged with a judge; one verdict is overruled. R2 planned nothing."""
    hand_made = hand_made_in(Lake.open(tmp_path_factory.mktemp("judged")))
    cells = [cell(expected("t", "passed", "failed"))]
    hand_made.land("R1", cells)
    lake = hand_made.lake
    ended = {
        "event_id": "2",
        "scenario_resolved": json.dumps(SCENARIO),
        "ended_at": datetime(2026, 3, 2, tzinfo=UTC),
    }
    event = lake.newest("runs", "R1").with_columns(pl.lit(value).alias(name) for name, value in ended.items())
    lake.write("runs", "R1", "2", event)
    hand_made.criteria("R1", "E2", [criterion(judge="simulated/judge")])
    hand_made.verdicts("R1", "E2", cells[0])
    verdict = lake.read("verdicts", "R1").filter(evaluation_id="E2", level="instance", outcome="failed")
    new = {"verdict_id": pl.lit("reviewed"), "supersedes": pl.col("verdict_id"), "outcome": pl.lit("passed")}
    lake.write("verdicts", "R1", "review", verdict.with_columns(reviewer=pl.lit("ana"), **new))
    hand_made.run("R2", "failed")
    build(lake)
    return lake


def test_a_run_has_what_it_asked_what_it_cost_and_the_evaluation_that_counts(judged_twice):
    first, second = query(judged_twice, "from marts.runs").to_dicts()
    known = {"kind": "benchmark", "scenario": "nightly", "models": ["simulated/one"], "evaluation_id": "E2"}
    known |= {"scenario_hash": sha256(json.dumps(SCENARIO).encode()).hexdigest(), "judge": "simulated/judge"}
    assert {name: first[name] for name in known} == known
    assert json.loads(first["parameters"])["temperature"] == 0.5
    assert first["requests"] == query(judged_twice, "select sum(requests) as n from marts.costs")["n"].item()
    assert first["ended_at"] == ENDED
    empty = ("scenario", "models", "judge", "evaluation_id", "requests", "cost_usd")
    assert (second["state"], [second[name] for name in empty]) == ("failed", [None] * len(empty))


@pytest.mark.parametrize(
    "mart", [model for model in load_models() if model.schema == "marts"], ids=lambda m: m.name
)
def test_every_mart_joins_it(mart):
    assert "run_id" in mart.about.columns or mart.name == "leaderboard"


def test_earlier_evaluations_and_verdicts_stay_to_be_queried(judged_twice):
    evaluations = query(
        judged_twice, "select evaluation_id, is_newest, requirements, judge from marts.evaluations"
    )
    assert evaluations.rows() == [("E1", False, 1, None), ("E2", True, 1, "simulated/judge")]
    counts = "outcome, is_of_newest_evaluation, superseded_by is null as stands, count(*)"
    verdicts = "from intermediate.int_verdict_history where level = 'instance'"
    rows = query(judged_twice, f"select {counts} {verdicts} group by all order by all", texts_of=ALL).rows()
    assert rows == [
        ("failed", False, True, 1),
        ("failed", True, False, 1),
        ("passed", False, True, 1),
        ("passed", True, True, 2),
    ]
    standing = f"select verdict_id {verdicts} and is_of_newest_evaluation and superseded_by is null order by all"
    counted = "select verdict_id from staging.stg_verdicts where level = 'instance' order by all"
    assert query(judged_twice, standing, texts_of=ALL).equals(query(judged_twice, counted, texts_of=ALL))
