"""A judge receives a sample of passes and of fails, and knows neither."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Limits, Target
from biasgrid.tasks.connectors.api import ServerFault
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.client.retry import Backoff
from biasgrid.tasks.evaluate.cell import Evaluation, evaluate_cells
from biasgrid.tasks.evaluate.judge import JudgeSampling, current
from biasgrid.tasks.evaluate.second_opinions import JudgeSession
from biasgrid.warehouse.storage.lake import Lake
from support.oracle_replies import land_cell
from support.prompted_cells import Model

Rows = Callable[..., pl.DataFrame]
REPLIES = 200
FAILED = 40
VERDICT = '{"verdict": "failed", "reason": "so it is"}'


def judge_of(verdict: str | None = VERDICT, finish_reason: str = "stop") -> Model:
    """Gives the same verdict on every reply, or nothing."""
    return Model(lambda _: ServerFault("500") if verdict is None else verdict, finish_reason=finish_reason)


@pytest.fixture
def lake(tmp_path: Path, cases: Rows, responses: Rows) -> Lake:
    """A cell of two hundred replies, each of a template of its own: the oracle fails one in five."""
    texts = [f"{'Yes' if n < FAILED else 'No'}, and that is reply {n}" for n in range(REPLIES)]
    lake = Lake(tmp_path)
    land_cell(lake, cases, responses, texts)
    return lake


async def run_judge(
    lake: Lake, catalog: Catalog, judge: Model, sampling: JudgeSampling, evaluation: str = "E1"
) -> None:
    target = Target(model="own/judge", provider="own", name="judge", connector="own", limits=Limits(concurrency=8))
    backoff = Backoff(first_s=0.0001, longest_s=0.0002, outage_s=0.05)
    async with ModelPool(catalog, backoff=backoff, connect=judge) as model_pool:
        session = JudgeSession(target, model_pool, 1, sampling=sampling)
        await evaluate_cells(lake, "run", ["cell"], Evaluation(evaluation, catalog, session))


def outcomes(lake: Lake, evaluation: str = "E1") -> Mapping[str, int]:
    standing = current(lake.read("verdicts", "run", f"{evaluation}-*")).filter(pl.col("level") == "instance")
    return dict(standing.group_by("outcome").len().iter_rows())


def about(lake: Lake, evaluation: str = "E1") -> pl.DataFrame:
    return lake.read("assessments", "run", f"{evaluation}-*")


async def test_a_judge_receives_shares_of_what_passed_and_of_what_failed(lake, catalog):
    judge = judge_of()
    await run_judge(lake, catalog, judge, JudgeSampling(passed=0.25, failed=0.5, seed=7))
    rows = about(lake)
    counts = dict(rows.group_by("stratum").len().iter_rows())
    assert len(judge.asked) == rows.height == sum(counts.values())
    assert counts["passed"] == pytest.approx(40, abs=16)
    assert counts["failed"] == pytest.approx(20, abs=9)
    assert set(rows.filter(pl.col("stratum") == "passed")["probability"]) == {0.25}
    assert set(rows["assessor_kind"]) == {"model"}


async def test_by_default_it_receives_all_that_failed_and_a_tenth_of_what_passed(lake, catalog):
    judge = judge_of()
    await run_judge(lake, catalog, judge, JudgeSampling(seed=7))
    shares = about(lake).group_by("stratum", "probability").len().rows_by_key("stratum", unique=True)
    assert shares["failed"] == (1.0, FAILED)
    assert shares["passed"] == (0.1, len(judge.asked) - FAILED)
    assert len(judge.asked) - FAILED == pytest.approx(0.1 * (REPLIES - FAILED), abs=11)
    assert outcomes(lake)["passed"] == REPLIES - FAILED


async def test_a_larger_share_holds_the_smaller_one_and_another_seed_draws_others(lake, catalog):
    drawn: dict[tuple[float, int], set[str]] = {}
    for number, (share, seed) in enumerate(((0.2, 7), (0.6, 7), (0.2, 8))):
        await run_judge(lake, catalog, judge_of(), JudgeSampling(share, 1.0, seed=seed), f"E{number}")
        drawn[share, seed] = set(about(lake, f"E{number}")["case_id"])
    assert drawn[0.2, 7] < drawn[0.6, 7]
    assert drawn[0.2, 7] != drawn[0.2, 8]


async def test_the_judge_does_not_learn_the_oracles_verdict(lake, catalog):
    judge = judge_of()
    await run_judge(lake, catalog, judge, JudgeSampling(passed=1.0))
    words = {
        text.content.replace(str(n), "#").replace("Yes, and", "X").replace("No, and", "X")
        for n, request in enumerate(judge.asked)
        for text in request.messages[:1]
    }
    assert len(words) == 1
    reported = " ".join(message.content for request in judge.asked for message in request.messages[1:])
    assert "begins with" not in reported
    assert "oracle" not in reported


async def test_its_word_on_what_passed_changes_no_outcome_and_is_kept(lake, catalog):
    await run_judge(lake, catalog, judge_of(), JudgeSampling(passed=1.0))
    assert outcomes(lake) == {"passed": REPLIES - FAILED, "failed": FAILED}
    on_passes = about(lake).filter(pl.col("stratum") == "passed")
    assert set(on_passes["outcome"]) == {"failed"}
    assert on_passes.height == REPLIES - FAILED


async def test_its_word_on_what_failed_is_kept_and_does_not_count_before_it_qualifies(lake, catalog):
    judge = judge_of(json.dumps({"verdict": "passed", "reason": "another wording"}))
    await run_judge(lake, catalog, judge, JudgeSampling())
    assert outcomes(lake) == {"passed": REPLIES - FAILED, "failed": FAILED}
    assert set(about(lake)["outcome"]) == {"passed"}


@pytest.mark.parametrize(
    ("verdict", "finish_reason", "state"),
    [
        ("I'm sorry, but I can't help with that.", "stop", "refused"),
        ("Lo siento, pero no puedo responder a eso.", "stop", "refused"),
        ("", "content_filter", "refused"),
        ("It passes, I would say.", "stop", "unreadable"),
        (None, "", "failed"),
    ],
)
async def test_a_judge_without_a_verdict_is_an_outcome_of_its_own(lake, catalog, verdict, finish_reason, state):
    await run_judge(lake, catalog, judge_of(verdict, finish_reason), JudgeSampling(passed=0.2))
    rows = about(lake)
    assert set(rows["state"]) == {state}
    assert rows["outcome"].null_count() == rows.height > FAILED
    assert rows["reason"].null_count() == 0
    assert outcomes(lake) == {"passed": REPLIES - FAILED, "failed": FAILED}


async def test_judging_again_asks_nothing_twice(lake, catalog):
    first, again, other = judge_of(), judge_of(), judge_of()
    sampling = JudgeSampling(passed=0.3, seed=7)
    await run_judge(lake, catalog, first, sampling)
    before = about(lake).drop("assessed_at")
    await run_judge(lake, catalog, again, sampling)
    await run_judge(lake, catalog, other, sampling, "E2")
    assert (len(first.asked), again.asked, other.asked) == (before.height, [], [])
    assert about(lake).drop("assessed_at").equals(before)
    assert set(about(lake, "E2")["case_id"]) == set(before["case_id"])


async def test_without_a_judge_nothing_is_assessed(lake, catalog):
    await evaluate_cells(lake, "run", ["cell"], Evaluation("E1", catalog))
    assert lake.files("assessments") == []


def test_the_sample_of_a_scenario_is_the_judges(scenario_settings):
    settings = scenario_settings(judge_sample={"passed": 0.3}, seed=5)
    assert JudgeSampling.of(settings) == JudgeSampling(0.3, 1.0, seed=5)
    assert JudgeSampling.of(scenario_settings()) == JudgeSampling() == JudgeSampling(0.1, 1.0)
