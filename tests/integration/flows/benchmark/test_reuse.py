"""Nothing is paid twice: replies of earlier runs, requests that two requirements share, judgements."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound

from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.flows.api import Benchmark
from biasgrid.flows.benchmark.stages_as_flows import prompt_run
from biasgrid.warehouse.build.build import query
from support.flows import provider_at

pytestmark = [pytest.mark.drill, pytest.mark.usefixtures("prefect_api")]

PROVIDER = "economy"
"""Of these tests alone: its limit at the server is made by the first run that asks it, in whichever test."""
MODEL = f"{PROVIDER}/biased"


@pytest.fixture
def gateway(serve: Any, overlay: Any) -> Any:
    """The biased respondent behind a provider that charges a dollar a million tokens."""
    server = serve("biased")
    prices = {MODEL: {"prices": {"input": 1.0, "output": 1.0}}}
    overlay({"providers": {PROVIDER: provider_at(server.base_url)}, "models": prices})
    return server


def costs(data: Path, run: Any) -> dict[str, Any]:
    return query(run.lake, "from marts.costs where run_id = ?", [run.run_id]).to_dicts()[0]


def test_replies_of_earlier_runs_stand_in_only_where_all_are_to_be_reused(
    gateway, scenario, landed, comparable, tmp_path
):
    asked = scenario([MODEL])
    first = Benchmark(asked, data=tmp_path).run()
    sent = len(gateway.bodies)
    paid = landed(tmp_path, first.run_id)
    assert sent == paid.replies.height
    assert paid.replies["cost_usd"].sum() > 0

    reusing = Benchmark(asked, data=tmp_path, reuse="all").run()
    free = landed(tmp_path, reusing.run_id)
    assert len(gateway.bodies) == sent
    assert set(free.replies["reused_from"]) == set(paid.replies["response_id"])
    assert set(free.replies["response_id"]).isdisjoint(paid.replies["response_id"])
    assert free.replies["cost_usd"].sum() == 0
    assert free.lake.newest("cells", reusing.run_id)["reused"].sum() == sent
    assert comparable(reusing.findings) == comparable(first.findings)

    Benchmark(asked, data=tmp_path).run()
    assert len(gateway.bodies) == 2 * sent


def test_replies_that_are_too_old_are_asked_for_afresh(gateway, scenario, landed, tmp_path):
    Benchmark(scenario([MODEL]), data=tmp_path).run()
    sent = len(gateway.bodies)
    Benchmark(scenario([MODEL]), data=tmp_path, reuse="all", max_age="0s").run()
    assert len(gateway.bodies) == 2 * sent
    warm = Benchmark(scenario([MODEL]), data=tmp_path, reuse="all", max_age="1d").run()
    assert len(gateway.bodies) == 2 * sent
    assert landed(tmp_path, warm.run_id).replies.height == sent
    spent = costs(tmp_path, landed(tmp_path, warm.run_id))
    assert (spent["requests"], spent["reused"], spent["attempts"], spent["cost_usd"]) == (0, sent, 0, 0)


def test_nothing_is_reused_where_every_case_is_to_be_an_independent_draw(
    gateway, scenario, requirement, landed, tmp_path
):
    twice = [requirement(name="strict", tolerance=1.0), requirement(name="lenient", tolerance=0.1)]
    outcome = Benchmark(scenario([MODEL], twice, templates=100), data=tmp_path, reuse="none").run()
    run = landed(tmp_path, outcome.run_id)
    cases = run.table("cases").height
    assert len(gateway.bodies) == run.replies.height == cases
    assert run.replies["reused_from"].null_count() == cases
    assert set(run.table("verdicts")["response_id"].drop_nulls()) == set(run.replies["response_id"])
    assert costs(tmp_path, run)["requests"] == cases
    assert costs(tmp_path, run)["cost_usd"] == pytest.approx(run.replies["cost_usd"].sum())
    asyncio.run(prompt_run(outcome.run_id, str(tmp_path)))
    assert len(gateway.bodies) == cases


def test_a_provider_of_a_run_has_a_limit_that_other_runs_share_and_all_its_slots_are_free_afterwards(
    gateway, scenario, tmp_path
):
    Benchmark(scenario([MODEL, "simulated/fair"]), data=tmp_path).run()
    with get_client(sync_client=True) as client:
        limit = client.read_global_concurrency_limit_by_name(f"biasgrid:{PROVIDER}")
        with pytest.raises(ObjectNotFound):
            client.read_global_concurrency_limit_by_name("biasgrid:simulated")
    assert (limit.limit, limit.active_slots) == (16, 0)


def test_a_run_that_reuses_reads_costs_that_add_up(gateway, scenario, landed, tmp_path):
    Benchmark(scenario([MODEL]), data=tmp_path).run()
    more = Benchmark(scenario([MODEL], samples=2), data=tmp_path, reuse="all").run()
    run = landed(tmp_path, more.run_id)
    half = run.table("cases").height // 2
    cell = run.lake.newest("cells", more.run_id).select(pl.col("answered", "reused").sum()).row(0)
    assert cell == (half, half)
    assert len(gateway.bodies) == 2 * half
    asked = run.replies.filter(pl.col("reused_from").is_null())
    assert set(asked["sample"]) == {2}
    assert costs(tmp_path, run)["cost_usd"] == pytest.approx(asked["cost_usd"].sum())


def test_what_two_requirements_ask_alike_is_sent_once_and_judged_for_both(
    gateway, scenario, requirement, landed, tmp_path
):
    twice = [requirement(name="strict", tolerance=1.0), requirement(name="lenient", tolerance=0.1)]
    # each requirement draws its own templates: ask all
    outcome = Benchmark(scenario([MODEL], twice, templates=100), data=tmp_path).run()
    run = landed(tmp_path, outcome.run_id)
    cases = run.table("cases")
    assert cases["request_key"].n_unique() == cases.height // 2
    assert Counter(gateway.prompts()).most_common(1)[0][1] == 1
    assert len(gateway.bodies) == cases.height // 2
    assert run.replies.height == cases.height
    assert run.replies.filter(pl.col("reused_from").is_not_null()).height == cases.height // 2
    by_requirement = {
        name: rows.drop("requirement").rows()
        for (name,), rows in run.outcomes().partition_by("requirement", as_dict=True).items()
    }
    assert by_requirement["strict"] == by_requirement["lenient"]
    assert {row["requirement"]: row["point_finding"] for row in outcome.findings} == {
        "strict": "not met",
        "lenient": "met",
    }
    assert costs(tmp_path, run)["cost_usd"] == pytest.approx(run.replies["cost_usd"].sum())


def test_a_judge_overrules_failed_verdicts_and_is_asked_once(judge, overlay, scenario, landed, tmp_path):
    bench = judge("passed")
    overlay({"providers": {"bench": provider_at(bench.base_url)}})
    sample = {"passed": 0.5}
    asked = Benchmark(scenario(["simulated/biased"], judge="bench/judge", judge_sample=sample), data=tmp_path)
    found = asked.run()
    run = landed(tmp_path, found.run_id)
    verdicts = run.table("verdicts").filter(pl.col("level") == "instance")
    failed = verdicts.filter((pl.col("outcome") == "failed") & (pl.col("assessor_kind") == "oracle"))
    overruled = verdicts.filter(pl.col("assessor_kind") == "model")
    assert failed.height > 0
    assert set(overruled["supersedes"]) == set(failed["verdict_id"])
    assert set(overruled["outcome"]) == {"passed"}
    assert set(overruled["assessor"]) == {"bench/judge"}

    replies, received = run.table("responses").filter(pl.col("purpose") == "judge"), run.table("assessments")
    shares = set(received.select("stratum", "probability").iter_rows())
    assert shares == {("failed", 1.0), ("passed", 0.5)}  # the seed draws one pass of these few, at least
    assert received.filter(pl.col("stratum") == "failed").height == failed.height
    controls = run.table("controls").height
    assert controls == 4 * len(load_catalog().controls["en_us"].controls)
    assert replies.height == len(bench.bodies) == received.height + controls
    assert set(replies["model"]) == {"bench/judge"}
    expected = query(
        run.lake,
        "select count(*) as tests, count(*) filter (where outcome = 'passed') as passed"
        " from intermediate.int_template_tests where oracle_type = 'expected value'",
    ).row(0)
    assert expected[0] == expected[1] > 0

    ids = set(run.table("verdicts")["verdict_id"])
    again = asked.evaluate()
    assert len(bench.bodies) == received.height + controls
    assert set(run.table("verdicts")["verdict_id"]) == ids
    assert again.findings[0]["passed"] == found.findings[0]["passed"]


def test_a_judgement_of_another_run_stands_in_where_all_are_to_be_reused(
    judge, overlay, scenario, landed, tmp_path
):
    bench = judge("passed")
    prices = {"bench/judge": {"prices": {"input": 1.0, "output": 1.0}}}
    overlay({"providers": {"bench": provider_at(bench.base_url)}, "models": prices})
    asked = scenario(["simulated/biased"], judge="bench/judge")
    first = Benchmark(asked, data=tmp_path).run()
    questions = len(bench.bodies)
    assert questions > 0
    again = Benchmark(asked, data=tmp_path, reuse="all").run()
    assert len(bench.bodies) == questions
    assert again.findings[0]["passed"] == first.findings[0]["passed"]
    run = landed(tmp_path, again.run_id)
    (spent,) = query(
        run.lake, "from marts.costs where run_id = ? and model = 'bench/judge'", [run.run_id]
    ).to_dicts()
    result = (spent["requests"], spent["judge_requests"], spent["reused"], spent["cost_usd"])
    assert result == (0, 0, questions, 0)
    Benchmark(asked, data=tmp_path, reuse="all", max_age="0s").run()
    assert len(bench.bodies) == 2 * questions
