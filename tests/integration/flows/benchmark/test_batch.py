"""A run through a provider's batch API: the same findings at the batch's price, next to models that have none."""

from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.flows.api import Benchmark
from biasgrid.flows.benchmark.kind import BENCHMARK
from biasgrid.flows.runs.cells import how_batches_go_on
from biasgrid.tasks.prompt.batch.jobs import Job
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]

MODEL, ALONE = "gateway/batched", "simulated/fair"


@pytest.fixture
def served(gateway: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The biased respondent behind a provider with a batch API, for a dollar a million tokens."""
    monkeypatch.setenv("BIASGRID_BATCH_POLL_S", "0.05")
    prices = {MODEL: {"prices": {"input": 1.0, "output": 1.0}}}
    return gateway("batched", {"batch": {}}, prices, failures={"default": 0.2}, batch_s=0.2)


def in_batches(served: Any) -> list[Any]:
    return [entry for entry in served.journal.entries if entry.batch is not None]


def test_a_run_in_batches_finds_what_asking_one_by_one_finds_at_half_the_price(
    served, scenario, requirement, landed, comparable, tmp_path
):
    twice = [requirement(), requirement(name="strict", tolerance=1.0, inputs=["constrained", "verbose"])]
    asked = scenario([MODEL, ALONE], twice)
    alone = Benchmark(asked, data=tmp_path).run()
    one_by_one = landed(tmp_path, alone.run_id)
    assert in_batches(served) == []

    outcome = Benchmark(asked, data=tmp_path, batch=True).run()
    run = landed(tmp_path, outcome.run_id)
    assert comparable(outcome.findings) == comparable(alone.findings)
    mine = run.replies.filter(pl.col("model") == MODEL)
    assert mine["text"].null_count() == 0
    assert len(in_batches(served)) == mine.filter(pl.col("reused_from").is_null()).height
    assert mine["cost_usd"].sum() == pytest.approx(one_by_one.replies["cost_usd"].sum() / 2)
    assert run.replies.filter(pl.col("model") == ALONE)["latency_ms"].null_count() == 0

    (job,) = query(run.lake, "from staging.stg_jobs where run_id = ?", [run.run_id]).to_dicts()
    assert (job["model"], job["state"], job["failed"]) == (MODEL, "collected", 0)
    assert job["requests"] == job["completed"] == len(in_batches(served))
    assert job["submitted_at"] < job["recorded_at"]


def test_people_see_the_batches_of_a_model_as_one_task_with_its_progress(served, scenario, recorded, tmp_path):
    outcome = Benchmark(scenario([MODEL]), data=tmp_path, batch=True).run()
    result = recorded(outcome.run_id, task_runs=1 + 1 + 1 + 1)
    (batch,) = [run for run in result.task_runs if run.name.startswith("batch")]
    assert (batch.name, batch.state_name, MODEL in batch.tags) == ("batch · batched", "Completed", True)
    assert any("gateway/batched: batches: 1 completed" in line for line in result.logs)
    assert result.states("prompt") == []


def test_models_without_a_batch_api_are_reported_and_a_run_of_no_others_is_refused(served, scenario):
    notices = BENCHMARK.prepare(scenario([MODEL, ALONE], batch=True)).resolved.notices
    assert [ALONE in notice and "one by one" in notice for notice in notices] == [True]
    assert BENCHMARK.prepare(scenario([MODEL, ALONE])).resolved.notices == ()
    with pytest.raises(UserError, match=r"no batch API is known for `simulated/fair`"):
        BENCHMARK.prepare(scenario([ALONE], batch=True))


def test_anyone_who_stops_a_run_receives_that_its_batches_go_on(tmp_path, served):
    lake = Lake.open(tmp_path)
    assert how_batches_go_on(lake, "R1") is None
    target = load_catalog().target(MODEL)
    Job.new("R1", target, ["a", "b", "c"]).record(lake)
    text = how_batches_go_on(lake, "R1")
    assert text is not None
    assert text.startswith("3 requests are in batches that go on at the provider")
    assert "biasgrid resume R1" in text
