"""The same scenario again: the same cases, the same findings, and nothing generated or asked twice. A resumed run
knows what it may still send before anything is sent.
"""

import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from prefect import flow
from prefect.results import ResultRecord, ResultRecordMetadata
from prefect.serializers import PickleSerializer

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.api import Benchmark
from biasgrid.flows.benchmark.kind import BENCHMARK
from biasgrid.flows.benchmark.stages_as_flows import generate_run
from biasgrid.flows.runs import cell_groups
from biasgrid.flows.runs.session import run_session
from biasgrid.tasks.connectors.client.run_budget import RunBudget
from biasgrid.tasks.prompt.batch.jobs import Job
from biasgrid.warehouse.storage.lake import Lake
from support.flows import Canary, provider_at, write_yaml

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]

Scenario = Callable[..., dict[str, Any]]
IDS = ("case_id", "request_key", "cell_id", "template_id", "instance_id")


@pytest.fixture(scope="module")
def asked(scenario: Scenario) -> dict[str, Any]:
    return scenario(["simulated/biased"], samples=2)


@pytest.fixture(scope="module")
def first(prefect_api: str, asked: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    benchmark = Benchmark(asked, data=tmp_path_factory.mktemp("first"))
    benchmark.run()
    return benchmark


def data_of(benchmark: Benchmark) -> Path:
    assert benchmark.outcome is not None
    return benchmark.outcome.places["lake"].parent


@pytest.fixture
def summary_of(first: Benchmark, landed: Any, comparable: Any) -> Callable[..., tuple[Any, Any, Any]]:
    """The ids of all cases, the outcome of every instance, and the findings, of a run."""

    def summarise(data: Path, run_id: str, findings: list[dict[str, Any]]) -> tuple[Any, Any, Any]:
        run = landed(data, run_id)
        return run.table("cases").select(IDS).sort("case_id").rows(), run.outcomes().rows(), comparable(findings)

    return summarise


def test_a_second_run_finds_generate_cached_and_the_same_in_everything(first, asked, summary_of, recorded):
    assert first.outcome is not None
    data = data_of(first)
    again = Benchmark(asked, data=data).run()
    assert summary_of(data, again.run_id, again.findings) == summary_of(data, first.run_id, first.outcome.findings)
    shown = recorded(again.run_id, task_runs=6)
    assert shown.states("generate") == ["Cached"]
    assert shown.states("prompt") == ["Completed", "Completed"]


@pytest.mark.drill
def test_another_data_directory_generates_afresh_and_finds_the_same(first, asked, summary_of, tmp_path):
    assert first.outcome is not None
    elsewhere = Benchmark(asked, data=tmp_path).run()
    mine = summary_of(data_of(first), first.run_id, first.outcome.findings)
    assert summary_of(tmp_path, elsewhere.run_id, elsewhere.findings) == mine


def test_a_plan_deleted_from_the_lake_is_generated_again(first, asked, landed):
    data = data_of(first)
    for plan in (data / "lake" / "plans").glob("*.parquet"):
        plan.unlink()
    again = Benchmark(asked, data=data)
    again.generate()
    assert landed(data, again.run_id).table("cases").height == landed(data, first.run_id).table("cases").height


def replace_prefects_results(plans: list[str], canary: Canary) -> None:
    """What earlier versions had Prefect cache, as a stranger could write it."""
    storage = Path(os.environ["PREFECT_HOME"]) / "storage"
    storage.mkdir(exist_ok=True)
    for plan in plans:
        key = f"biasgrid-plan-{plan}"
        metadata = ResultRecordMetadata(storage_key=str(storage / key), serializer=PickleSerializer())
        (storage / key).write_bytes(ResultRecord(result=canary, metadata=metadata).serialize())


def test_nothing_that_a_cache_or_a_lake_holds_is_executed(asked, landed, recorded, tmp_path):
    data, trace = tmp_path / "data", tmp_path / "executed"
    first = Benchmark(asked, data=data)
    first.generate()
    plans = [*(data / "lake" / "plans").glob("*.parquet")]
    replace_prefects_results([plan.stem for plan in plans], Canary(trace))
    for plan in plans:
        plan.write_bytes(pickle.dumps(Canary(trace)))
    again = Benchmark(asked, data=data).run()
    assert not trace.exists()
    assert recorded(again.run_id, task_runs=6).states("generate") == ["Completed"]
    assert landed(data, again.run_id).table("cases").height == landed(data, first.run_id).table("cases").height


PROGRAM = """
import json, sys
from biasgrid.flows.api import Benchmark
benchmark = Benchmark(sys.argv[1], data=sys.argv[2])
print(json.dumps([benchmark.run().run_id, benchmark.outcome.findings], default=str))
"""


@pytest.mark.drill
def test_a_process_with_other_hashes_finds_the_same(first, asked, summary_of, tmp_path):
    """Python orders sets by hashes that differ from process to process."""
    assert first.outcome is not None
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(asked), str(tmp_path)],
        env={**os.environ, "PYTHONHASHSEED": "4711", "PREFECT_LOGGING_LEVEL": "CRITICAL"},
        capture_output=True,
        text=True,
        check=True,
    )
    run_id, findings = json.loads(done.stdout.splitlines()[-1])
    mine = summary_of(data_of(first), first.run_id, json.loads(json.dumps(first.outcome.findings, default=str)))
    assert summary_of(tmp_path, run_id, findings) == mine


@pytest.mark.drill
def test_verb_by_verb_finds_what_one_call_finds(first, asked, summary_of, landed, tmp_path):
    assert first.outcome is not None
    steps = Benchmark(asked, data=tmp_path / "data")
    with pytest.raises(UserError, match="no run has begun"):
        steps.prompt()
    run = landed(tmp_path / "data", steps.generate())
    assert (run.replies.height, run.state) == (0, "running")
    steps.prompt()
    assert run.replies.height == run.table("cases").height
    assert run.table("verdicts").is_empty()
    steps.prompt()
    assert run.replies.height == run.table("cases").height
    outcome = steps.evaluate()
    mine = summary_of(data_of(first), first.run_id, first.outcome.findings)
    assert summary_of(tmp_path / "data", steps.run_id, outcome.findings) == mine
    written = steps.report("langbite", out=tmp_path / "reports")
    assert [path.name.partition("_")[2] for path in written] == [
        "responses.csv",
        "evaluations.csv",
        "global_evaluation.csv",
    ]
    assert pl.read_csv(written[0]).height == run.table("cases").height


@pytest.mark.parametrize("form", ["path", "json"])
def test_a_path_and_a_json_string_are_taken_like_a_dict(first, asked, landed, tmp_path, form):
    path = write_yaml(tmp_path / "small.yaml", asked)
    given = Benchmark(path if form == "path" else json.dumps(asked), data=tmp_path / "data")
    given.generate()
    ids = landed(tmp_path / "data", given.run_id).table("cases").select(IDS).sort("case_id")
    assert ids.rows() == landed(data_of(first), first.run_id).table("cases").select(IDS).sort("case_id").rows()


MODEL, CAP = "gateway/batched", 5.0


@pytest.fixture
def resumed(overlay: Any, scenario: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """The allowance of a run that is taken up while a batch of four requests is at its provider."""
    gateway = provider_at("http://127.0.0.1:9", batch={})
    overlay({"providers": {"gateway": gateway}, "models": {MODEL: {"prices": {"input": 1.0, "output": 1.0}}}})
    asked = scenario([MODEL], batch=True, max_cost=CAP)

    async def resume(*, asks: bool) -> RunBudget | None:
        run_id = await generate_run(asked, data=str(tmp_path))
        lake, prepared = Lake(tmp_path), BENCHMARK.prepare(asked)
        keys = lake.read("cases", run_id)["request_key"].head(4).to_list()
        Job.new(run_id, prepared.resolved.targets[MODEL], keys).record(lake)

        @flow(name="resumed")
        async def resumed() -> RunBudget | None:
            async with run_session(lake, prepared, run_id, asks=asks) as grid:
                return grid.model_pool.run_budget

        return await resumed()

    return resume


async def test_batches_that_are_at_a_provider_are_counted_before_the_first_request(resumed):
    run_budget = await resumed(asks=True)
    (hold,) = run_budget.jobs.values()
    assert (run_budget.sent, hold.requests) == (4, 4)
    assert 4 * 60 / 2e6 < hold.most_usd == pytest.approx(CAP - run_budget.cost_left)
    assert run_budget.cost == 0.0


async def test_where_they_are_not_collected_no_one_waits_for_them(resumed):
    run_budget = await resumed(asks=False)
    assert await run_budget.take(CAP) is None
    assert "reserved for batches under way" in str(run_budget.reached)


def test_cells_that_share_task_runs_are_judged_as_those_with_their_own(
    scenario, requirement, recorded, monkeypatch, tmp_path
):
    asked = scenario(["simulated/biased"], [requirement(name="a"), requirement(name="b")], templates=8)
    alone = Benchmark(asked, data=tmp_path / "alone").run()
    monkeypatch.setattr(cell_groups, "TASK_RUNS", 1)
    grouped = Benchmark(asked, data=tmp_path / "grouped").run()
    own = ("run_id", "evaluation_id", "seconds", "judged_at", "started_at", "ended_at")
    for one, other in zip(grouped.findings, alone.findings, strict=True):
        assert {key: value for key, value in one.items() if other[key] != value and key not in own} == {}
    verbs = Counter(run.name.partition(" ")[0] for run in recorded(grouped.run_id, task_runs=4).task_runs)
    assert verbs == {"generate": 1, "prompt": 1, "evaluate": 1, "aggregate": 1}
