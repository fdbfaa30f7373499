"""A judge reads controls among a run's own replies, and its word counts where it is right on them often enough."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.oracle import describe_rule
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.evaluate.cell import Evaluation, evaluate_cells
from biasgrid.tasks.evaluate.controls import control_questions, share_out
from biasgrid.tasks.evaluate.judge import JudgeSampling, current
from biasgrid.tasks.evaluate.qualification import settle_judges
from biasgrid.tasks.evaluate.second_opinions import JudgeSession
from biasgrid.warehouse.storage.lake import Lake
from support.oracle_replies import land_cell

Rows = Callable[..., pl.DataFrame]
REPLIES, FAILED = 60, 40
LANGUAGES = ("ca_es", "en_us", "es_es")


@pytest.fixture
def lake(tmp_path: Path, cases: Rows, responses: Rows) -> Lake:
    """A cell of replies, each of a template of its own: the oracle fails two thirds, and rightly so."""
    texts = [f"{'Yes' if n < FAILED else 'No'}, and that is reply {n}" for n in range(REPLIES)]
    lake = Lake(tmp_path)
    cell = {"run_id": "run", "event_id": "1", "cell_id": "cell", "language": "en_us", "state": "planned"}
    lake.write("cells", "run", "planned-1", pl.DataFrame([cell]))
    land_cell(lake, cases, responses, texts)
    return lake


def record(lake: Lake, evaluation: str = "E1", **changes: Any) -> None:
    rules: dict[str, Any] = {"judge_overrules": True, "judge_floor": 0.8} | changes
    row = {"run_id": "run", "evaluation_id": evaluation, "requirement": "r", "recorded_at": datetime.now(UTC)}
    lake.write("criteria", "run", evaluation, pl.DataFrame([row | rules]))


async def run_judge(lake: Lake, catalog: Catalog, name: str, evaluation: str = "E1", **rules: Any) -> pl.DataFrame:
    """Evaluates the cell with a simulated judge, settles it, and returns the standing instance verdicts."""
    controls = share_out(catalog, {"cell": "en_us"}, seed=0)
    async with ModelPool(catalog) as model_pool:
        target = catalog.target(f"simulated/{name}")
        session = JudgeSession(target, model_pool, sampling=JudgeSampling(), controls=controls)
        await evaluate_cells(lake, "run", ["cell"], Evaluation(evaluation, catalog, session))
    record(lake, evaluation, **rules)
    settle_judges(lake, "run")
    return standing_verdicts(lake, evaluation)


def standing_verdicts(lake: Lake, evaluation: str = "E1") -> pl.DataFrame:
    return current(lake.read("verdicts", "run", f"{evaluation}-*")).filter(pl.col("level") == "instance")


def by_judge(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("assessor_kind") == "model")


@pytest.mark.parametrize(
    "name",
    ["judge-yes", "judge-no", "judge-coin", "judge-declines", "judge-obeys", "judge-lenient", "judge-strict"],
)
async def test_a_judge_that_does_not_qualify_changes_no_verdict_and_its_opinions_are_kept(lake, catalog, name):
    rows = await run_judge(lake, catalog, name)
    assert by_judge(rows).is_empty()
    assert rows.filter(pl.col("outcome") == "failed").height == FAILED
    opinions = lake.read("assessments", "run").filter(pl.col("stratum") == "failed")
    assert opinions.height == FAILED
    if name == "judge-yes":
        assert set(opinions["outcome"]) == {"passed"}


@pytest.mark.parametrize("name", ["judge-exact", "judge-good"])
async def test_a_judge_that_qualifies_decides_what_the_oracle_failed(lake, catalog, name):
    rows = await run_judge(lake, catalog, name)
    assert by_judge(rows).height == FAILED
    overturned = by_judge(rows).filter(pl.col("outcome") == "passed").height
    assert (overturned == 0) is (name == "judge-exact")
    assert overturned < 0.3 * FAILED
    assert rows.filter(pl.col("outcome") == "passed").height == REPLIES - FAILED + overturned


async def test_the_floor_is_the_scenarios(lake, catalog):
    assert by_judge(await run_judge(lake, catalog, "judge-lenient", judge_floor=0.5)).height == FAILED
    assert by_judge(await run_judge(lake, catalog, "judge-good", "E2", judge_floor=0.999)).is_empty()
    assert by_judge(await run_judge(lake, catalog, "judge-good", "E3", judge_overrules=False)).is_empty()


async def test_settling_again_stores_the_same(lake, catalog):
    await run_judge(lake, catalog, "judge-good")
    once = lake.read("verdicts", "run")
    settle_judges(lake, "run")
    assert lake.read("verdicts", "run").equals(once)
    template = current(once).filter(pl.col("level") == "template")
    assert dict(template.group_by("outcome").len().iter_rows()) == dict(
        standing_verdicts(lake).group_by("outcome").len().iter_rows()
    )


async def test_an_evaluation_from_before_judges_had_to_qualify_stays_as_it_is(lake, catalog):
    await run_judge(lake, catalog, "judge-good")
    before = lake.read("verdicts", "run")
    record(lake, judge_overrules=None, judge_floor=None)
    settle_judges(lake, "run")
    assert lake.read("verdicts", "run").equals(before)


async def test_controls_are_paid_once_and_mixed_with_the_runs_own(lake, catalog):
    await run_judge(lake, catalog, "judge-good")
    asked = lake.read("responses", "run", "judge-*")
    controls = lake.read("controls", "run", "E1-*")
    assert controls.height == 4 * len(catalog.controls["en_us"].controls)
    assert set(controls["request_key"]) <= set(asked["request_key"])
    assert set(asked["purpose"]) == {"judge"}
    is_control = [case_id.startswith("control/") for case_id in asked.sort("received_at")["case_id"]]
    assert True in is_control[:20]
    assert False in is_control[:20]
    assert False in is_control[-20:]
    await run_judge(lake, catalog, "judge-good", "E2")
    assert lake.read("responses", "run", "judge-*").height == asked.height
    again = lake.read("controls", "run", "E2-*")
    first, second = (rows.drop("evaluation_id", "read_at").sort(pl.all()) for rows in (controls, again))
    assert first.equals(second)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_enough_controls_of_both_outcomes_and_half_of_them_hard(catalog, language):
    questions = [question for question in control_questions(catalog, language) if not question.is_swapped]
    truths = [question.truth for question in questions]
    assert len(questions) >= 48
    assert truths.count("passed") == truths.count("failed")
    assert 2 * sum(question.control.hard for question in questions) >= len(questions)
    exchanges = {(question.control.prompt, question.control.reply(question.truth)) for question in questions}
    assert len(exchanges) == len(questions)
    assert all(describe_rule(question.oracle) for question in questions)


@pytest.mark.parametrize("name", ["judge-good", "judge-lenient", "judge-strict", "judge-coin"])
async def test_a_simulated_judge_errs_as_often_as_its_file_states(lake, catalog, name):
    await run_judge(lake, catalog, name)
    judging = catalog.respondents[name].judging
    assert judging is not None
    rows = lake.read("controls", "run")
    for truth, share in (("passed", judging.sensitivity), ("failed", judging.specificity)):
        right = (rows.filter(pl.col("truth") == truth)["outcome"] == truth).mean()
        assert right == pytest.approx(share, abs=0.2)


def test_all_controls_are_shared_out_whatever_part_of_the_cells_is_evaluated(catalog):
    cells = {"a": "en_us", "b": "es_es", "c": "en_us", "d": "fr_fr"}
    shares = share_out(catalog, cells, seed=3)
    assert shares["d"] == ()
    assert shares == share_out(catalog, dict(reversed(cells.items())), seed=3)
    named = [question.case_id for cell in ("a", "c") for question in shares[cell]]
    assert len(named) == len(set(named)) == 4 * len(catalog.controls["en_us"].controls)
    assert abs(len(shares["a"]) - len(shares["c"])) <= 1
    assert shares["a"] != share_out(catalog, cells, seed=4)["a"]


def test_a_control_is_asked_as_a_reply_of_the_run_is_with_the_verdicts_in_both_orders(catalog):
    first, second = list(control_questions(catalog, "en_us"))[:2]
    assert (first.is_swapped, second.is_swapped) == (False, True)
    given, swapped = first.request(), second.request()
    reply = first.control.reply(first.truth)
    assert given[1] == swapped[1]
    assert given[0].content.index('"passed"') < given[0].content.index('"failed"')
    assert swapped[0].content.index('"failed"') < swapped[0].content.index('"passed"')
    assert sorted(given[0].content.split("\n")[4:8]) == sorted(swapped[0].content.split("\n")[4:8])
    assert "control" not in given[0].content + given[1].content.replace(reply, "")
