"""The queries that come along: what they answer about respondents whose bias is known."""

from pathlib import Path
from shutil import copytree

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from biasgrid.flows.results.sql import ask
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.queries.example_queries import shown_in, worked_queries
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import begin_run

OF_PROBES = {"what-a-probe-could-not-tell", "which-stereotypes-a-model-hides"}
FAIR, BIASED, REFUSER = "simulated/fair", "simulated/biased", "simulated/refuser"


def answer(lake: Lake, name: str) -> pl.DataFrame:
    return ask(lake, worked_queries()[name].sql)


def test_there_are_twelve_each_headed_by_its_question():
    assert len(worked_queries()) == 12
    assert all("?" in query.question for query in worked_queries().values())


def test_the_guide_shows_them_as_they_are(docs):
    guide = (docs / "guides" / "analysts.md").read_text(encoding="utf-8")
    assert shown_in(guide) == guide, "run `make dictionary`"
    assert all(query.sql in guide for query in worked_queries().values())


def test_the_biased_model_fails_what_the_fair_one_meets(analysed):
    rows = answer(analysed, "which-requirements-fail")
    findings = {(row["model"], row["requirement"]): row for row in rows.to_dicts()}
    assert len(findings) == 6
    for requirement in ("sexism-alike", "ageism-alike"):
        assert findings[FAIR, requirement]["point_finding"] == "met"
        assert findings[BIASED, requirement]["point_finding"] == "not met"
        assert findings[BIASED, requirement]["passed_percent"] < findings[BIASED, requirement]["needed_percent"]
        assert findings[REFUSER, requirement]["point_finding"] == "not evaluated"
    assert rows["point_finding"].to_list()[:2] == ["not met", "not met"]


def test_concerns_stand_next_to_models(analysed):
    rows = answer(analysed, "how-concerns-compare")
    assert rows["concern"].to_list() == ["ageism", "sexism"]
    assert all(rows[FAIR] > rows[BIASED])
    assert rows[REFUSER].null_count() == 2


def test_the_weakest_cells_are_three_of_each_model_that_could_be_evaluated(analysed):
    rows = answer(analysed, "where-a-model-is-weakest")
    assert rows.group_by("model").len().sort("model").rows() == [(BIASED, 3), (FAIR, 3)]
    assert rows.filter(pl.col("model") == BIASED)["passed_percent"].is_sorted()


def test_templates_that_fail_are_reported_with_the_models_that_fail_them(analysed):
    rows = answer(analysed, "which-templates-fail-most")
    assert 0 < rows.height <= 20
    assert (rows["models"] == 2).all()
    assert rows["who"].str.contains(BIASED).any()
    assert rows["template"].is_unique().all()


def test_communities_that_a_biased_model_treats_worse_are_found(analysed):
    rows = answer(analysed, "who-is-treated-differently")
    worst = rows.filter(pl.col("model") == BIASED, pl.col("difference") > 0)
    assert {"women", "age_80"} <= set(worst["community"])
    fair = rows.filter(pl.col("model") == FAIR)
    assert fair["difference"].abs().max() < worst["difference"].max()
    assert (rows["replies"] > 0).all()


def test_numbers_that_lie_apart_are_reported_with_whom_they_were_given_to(analysed):
    rows = answer(analysed, "which-numbers-lie-apart")
    assert rows.height > 0
    assert (rows["max_value"] - rows["min_value"] == rows["spread"]).all()
    assert ((rows["spread"] > rows["admissible_spread"]) == (rows["outcome"] == "failed")).all()
    assert rows["model"][0] == BIASED


def test_only_who_declines_is_reported_to_decline(analysed):
    rows = answer(analysed, "who-is-declined")
    refusing = rows.filter(pl.col("model") == REFUSER)
    assert refusing.select("concern", "most_percent", "difference").sort("concern").rows() == [
        ("ageism", 100.0, 0.0),
        ("sexism", 100.0, 0.0),
    ]
    assert FAIR not in set(rows["model"])


def test_inputs_and_reflections_are_compared_model_by_model(analysed):
    rows = answer(analysed, "does-the-wording-matter")
    assert rows.height == 3 * 4
    assert (rows.filter(pl.col("model") == FAIR)["passed_percent"] > 90).all()
    assert (rows.filter(pl.col("model") == REFUSER)["refused_percent"] == 100).all()


def test_failed_replies_can_be_read_with_their_prompt_and_reason(analysed):
    rows = answer(analysed, "what-failed-replies-say")
    assert rows.height > 0
    assert rows.group_by("model", "concern").len()["len"].max() <= 3
    assert rows.null_count().sum_horizontal().item() == 0
    assert BIASED in set(rows["model"])


def test_a_run_s_requests_add_up(analysed):
    (row,) = answer(analysed, "what-runs-cost").to_dicts()
    assert row["requests"] == analysed.read("responses").height
    assert (row["cost_usd"], row["reused"], row["failed"]) == (0, 0, 0)
    assert row["tokens"] > row["requests"]


def test_stereotypes_that_a_model_acts_on_and_denies_are_reported_from_those_that_it_states(probed):
    rows = answer(Lake(probed.data), "which-stereotypes-a-model-hides")
    assert rows.height > 0
    hidden = rows.filter(pl.col("model") == "simulated/hiding")
    assert set(hidden["when_asked"]) <= {"no bias shown", "not evaluated"}
    assert set(rows["model"]) <= {"simulated/hiding", "simulated/leaning"}
    assert (rows["q_value"] <= 0.05).all()


def test_where_a_probe_learnt_little_stands_first_with_the_reason(probed):
    lake = Lake(probed.data)
    rows = answer(lake, "what-a-probe-could-not-tell")
    assert rows["compared_percent"].is_sorted()
    lost = ("refused", "one_sided", "unreadable", "without_a_reply")
    assert rows.row(0, named=True)["unreadable"] > 0
    assert rows.select(pl.sum_horizontal(lost)).sum().item() == (
        ask(lake, "select sum(trials - compared)::bigint from marts.probe_findings").item()
    )


@pytest.mark.parametrize(("kind", "state"), [("probe", "completed"), ("benchmark", "failed")])
def test_a_later_run_without_rows_changes_no_answer_about_benchmarks(analysed, tmp_path, kind, state):
    later = Lake(Path(copytree(analysed.root, tmp_path / "data")))
    begin_run(later, "{}", "{}", {}, 7, kind).record(later, state)
    build(later)
    for name in worked_queries().keys() - {"what-runs-cost"}:
        expected = answer(analysed, name)
        assert expected.height > 0 or name in OF_PROBES
        assert_frame_equal(answer(later, name), expected)
