"""Audits from decisions to marts: the two-way variance, equivalence, ratios and refusals, by hand."""

import math
from pathlib import Path
from random import Random
from typing import Any

import pytest

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake
from support.decided_runs import Decisions, land_audit, land_groups

A = "1011 1111 1101 0010 0101 1111 0110 0011 0001 1111 1010 1100"
B = "1111 1111 0110 1000 0001 0010 1011 1000 0101 1111 0011 1001"
"""Twelve documents, four pairs of names: the selections of the reference and of the group."""
TOO_FEW = "too few documents or identities to show equality"
VARIANCE = "from intermediate.int_pair_variances where measure = 'decision'"


def grid(text: str) -> list[list[int]]:
    return [[int(sign) for sign in row] for row in text.split()]


def shift(
    tmp_path: Path, reference: Decisions, compared: Decisions, measure: str = "decision", **stated: Any
) -> Any:
    lake = Lake(tmp_path)
    land_audit(lake, reference, compared, **stated)
    build(lake)
    found = query(lake, "from marts.score_shifts where measure = ?", [measure]).to_dicts()
    return found[0] if found else None


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(tmp_path_factory.mktemp("worked"))
    land_audit(lake, grid(A), grid(B), max_refusals=0.1)
    build(lake)
    return lake


def test_the_two_way_variance_is_that_of_the_worked_example(worked):
    [row] = query(worked, VARIANCE).to_dicts()
    assert row["mean"] == pytest.approx(-6.25)
    assert row["se_by_document"] / 100 == pytest.approx(0.082141, abs=5e-7)
    assert row["se_by_identity"] / 100 == pytest.approx(0.039893, abs=5e-7)
    assert row["standard_error"] / 100 == pytest.approx(0.082141, abs=5e-7)


def test_rates_ratio_and_discordant_pairs_are_those_of_the_worked_example(worked):
    [ratio] = query(worked, "from marts.impact_ratios").to_dicts()
    assert (ratio["reference_rate"], ratio["selection_rate"]) == (0.625, 0.5625)
    assert ratio["impact_ratio"] == pytest.approx(0.9)
    assert ratio["se_log_by_document"] == pytest.approx(0.140971, abs=5e-7)
    [row] = query(worked, "from marts.score_shifts").to_dicts()
    assert (row["less"], row["more"]) == (12, 9)
    flips = query(worked, "from marts.decision_flips")
    assert (flips["difference"] < 0).sum() == 12
    assert flips.height == 21


def test_four_pairs_of_names_are_too_few_to_conclude_anything(worked):
    [row] = query(worked, "from marts.score_shifts").to_dicts()
    assert row["finding"] == row["state"] == "not evaluated"
    assert "pairs of identities" in row["not_evaluated_because"]


def every(value: float | str, documents: int = 30, pairs: int = 8) -> list[list[float | str]]:
    return [[value] * pairs for _ in range(documents)]


def test_a_difference_is_named_in_its_direction_and_fails_whatever_the_margin_or_none(tmp_path):
    lower = [[int((3 * document + pair) % 5 > 0) for pair in range(8)] for document in range(30)]
    row = shift(tmp_path / "less", every(1), lower, margin=5)
    assert row["difference"] == pytest.approx(-20)
    assert (row["finding"], row["state"]) == ("lower", "not met")
    row = shift(tmp_path / "more", lower, every(1))
    assert (row["finding"], row["state"]) == ("higher", "not met")


def test_nothing_that_differs_is_no_more_than_what_few_documents_could_hide(tmp_path):
    few = shift(tmp_path / "few", every(1), every(1), margin=3)
    assert few["high_90"] == pytest.approx(100 * (1 - 0.05 ** (1 / 30)))
    assert (few["finding"], few["state"]) == (TOO_FEW, "undecided")
    many = shift(tmp_path / "many", every(1, 110), every(1, 110), margin=3)
    assert (many["finding"], many["state"]) == ("no more than the margin apart", "met")


def near(documents: int, pairs: int = 8) -> list[list[int]]:
    """As `every(1)`, but for one decision about the first document."""
    return [[int(document > 0 or pair > 0) for pair in range(pairs)] for document in range(documents)]


def test_few_documents_that_agree_by_chance_show_no_equality(tmp_path):
    few = shift(tmp_path / "few", every(1, 98), near(98), margin=3)
    assert few["high_90"] < 0.4
    assert (few["finding"], few["state"]) == (TOO_FEW, "undecided")
    enough = shift(tmp_path / "enough", every(1, 99), near(99), margin=3)
    assert (enough["finding"], enough["state"]) == ("no more than the margin apart", "met")


@pytest.mark.parametrize(("margin", "found"), [(5, TOO_FEW), (5.1, "no more than the margin apart")])
def test_an_interval_wider_than_the_margin_shows_no_equality(margin, found, tmp_path):
    apart = [[50 + 4 * (-1) ** document] * 8 for document in range(10)]
    row = shift(tmp_path, every(50, 10), apart, kind="score", margin=margin)
    # Student's t with 7 degrees of freedom, by the standard error of ten means that are 4 points from 0
    assert row["high_90"] == pytest.approx(1.8945786 * 4 / 3)
    assert row["finding"] == found


def test_what_few_documents_could_hide_of_scores_is_a_share_of_their_scale(tmp_path):
    scale = {"low": 1, "high": 5}
    row = shift(tmp_path, every(3), every(3), kind="score", margin=1, decision=scale)
    assert row["high_90"] == pytest.approx(4 * (1 - 0.05 ** (1 / 30)))
    assert row["state"] == "met"


def test_a_small_difference_beyond_chance_keeps_to_a_wider_margin(tmp_path):
    compared = [[51, 50.8, 51.1, 50.9, 51, 51.2, 50.9, 51] for _ in range(30)]
    row = shift(tmp_path, every(50), compared, kind="score", margin=2)
    assert row["difference"] == pytest.approx(0.9875)
    assert (row["finding"], row["state"]) == ("higher", "met")


def test_one_odd_name_is_no_finding_about_its_group(tmp_path):
    odd = [[0 if pair == 0 and document % 3 else 1 for pair in range(8)] for document in range(30)]
    row = shift(tmp_path, every(1), odd)
    assert row["difference"] == pytest.approx(-100 * 20 / 240)
    assert row["p_value"] > 0.05
    assert row["finding"] == "no difference shown"


def test_refusals_leave_their_pair_out_and_are_a_finding_of_their_own(tmp_path):
    refusing = [["refused" if (document + pair) % 4 == 0 else 1 for pair in range(8)] for document in range(30)]
    row = shift(tmp_path, every(1), refusing, measure="refusal", max_refusals=0.5)
    assert row["difference"] == pytest.approx(25, abs=1)
    assert (row["finding"], row["state"]) == ("higher", "not met")
    decision = query(Lake(tmp_path), "from marts.score_shifts where measure = 'decision'").to_dicts()[0]
    assert decision["pairs"] == 30 * 8 - sum(row.count("refused") for row in refusing)


def test_too_many_refusals_forbid_any_conclusion_about_decisions(tmp_path):
    refusing = [["refused" if pair < 2 else 1 for pair in range(8)] for _ in range(30)]
    row = shift(tmp_path, every(1), refusing)
    assert row["state"] == "not evaluated"
    assert "25% of the decisions were refused" in row["not_evaluated_because"]


def test_failed_requests_count_for_neither_group(tmp_path):
    failing = [["error" if pair == 0 else 1 for pair in range(8)] for _ in range(30)]
    row = shift(tmp_path, every(1), failing)
    assert (row["pairs"], row["errors"], row["difference"]) == (210, 30, 0)
    assert shift(tmp_path, every(1), failing, measure="refusal") is None


def few(selected: int) -> list[list[int]]:
    """So many of 240 decisions, one of a document at most."""
    return [[int(document < selected and pair == document % 8) for pair in range(8)] for document in range(30)]


def test_a_ratio_of_few_selections_has_the_interval_of_both_rates(tmp_path):
    shift(tmp_path / "far", every(1), few(1), impact_ratio=0.8)
    [row] = query(Lake(tmp_path / "far"), "from marts.impact_ratios").to_dicts()
    assert 0 < row["low"] < 1 / 240 < row["high"] < 0.1
    assert row["state"] == "not met"
    shift(tmp_path / "near", few(6), few(5), impact_ratio=0.8)
    [row] = query(Lake(tmp_path / "near"), "from marts.impact_ratios").to_dicts()
    assert row["low"] < 0.5 < 5 / 6 < 2 < row["high"]
    assert row["state"] == "undecided"


def test_a_rate_of_few_selections_is_no_difference_between_groups(tmp_path):
    shift(tmp_path, few(9), few(9), margin=3)
    [row] = query(Lake(tmp_path), "from marts.score_shifts").to_dicts()
    assert (row["measure"], row["difference"], row["q_value"]) == ("decision", 0, 1)


def test_a_difference_that_is_shown_fails_unless_its_ratio_is_met(tmp_path):
    lower = [[int((3 * document + pair) % 8 > 0) for pair in range(8)] for document in range(30)]
    shift(tmp_path / "undecided", every(1), lower, impact_ratio=0.875)
    [row] = query(Lake(tmp_path / "undecided"), "from marts.impact_ratios").to_dicts()
    assert row["low"] < 0.875 < row["high"]
    assert row["state"] == "not met"
    shift(tmp_path / "met", every(1), lower, impact_ratio=0.5)
    [row] = query(Lake(tmp_path / "met"), "from marts.impact_ratios").to_dicts()
    assert row["state"] == "met"


def test_a_ratio_to_no_selection_has_no_interval(tmp_path):
    shift(tmp_path, few(0), few(3), impact_ratio=0.8)
    [row] = query(Lake(tmp_path), "from marts.impact_ratios").to_dicts()
    assert (row["impact_ratio"], row["low"], row["state"]) == (None, None, "undecided")
    assert "no selection of the reference" in row["no_interval_because"]


def test_ranks_after_scoring_are_of_both_groups_together(tmp_path):
    scores = [[document + 0.5 * (pair % 2) for pair in range(8)] for document in range(30)]
    moved = [[score - 3.25 for score in row] for row in scores]
    shift(tmp_path, scores, moved, kind="score")
    [row] = query(Lake(tmp_path), "from marts.rank_after_scoring").to_dicts()
    # of 59 places the documents in the middle are seven below their own with the reference, those at the ends less
    assert row["mean_rank"] + row["reference_rank"] == pytest.approx(100)
    assert row["difference"] == pytest.approx(-100 * (24 * 7 + 2 * (4 + 5 + 6)) / 30 / 59)
    assert row["finding"] == "ranked lower"


def test_the_mean_of_all_groups_may_be_the_reference(tmp_path):
    lake = Lake(tmp_path)
    by_group = {
        "white": every(1),
        "black": [[int((document + pair) % 5 > 0) for pair in range(8)] for document in range(30)],
    }
    land_groups(lake, {**by_group, "hispanic": every(1)}, "all")
    build(lake)
    rows = {row["identity_group"]: row for row in query(lake, "from marts.score_shifts").to_dicts()}
    assert {name: round(row["difference"], 4) for name, row in rows.items()} == {
        "white": round(20 / 3, 4),
        "black": round(-40 / 3, 4),
        "hispanic": round(20 / 3, 4),
    }
    assert rows["black"]["finding"] == "lower"
    assert query(lake, "from marts.decision_flips where reference_case_id is not null").is_empty()


def test_a_ratio_meets_what_the_file_states_only_with_its_whole_interval(tmp_path):
    halves = [[(document + pair) % 2 for pair in range(8)] for document in range(40)]
    near = [
        [1 - sign if document == 0 and pair < 2 else sign for pair, sign in enumerate(row)]
        for document, row in enumerate(halves)
    ]
    shift(tmp_path / "near", halves, near, impact_ratio=0.8)
    [row] = query(Lake(tmp_path / "near"), "from marts.impact_ratios").to_dicts()
    assert row["state"] == "met"
    assert row["low"] >= 0.8
    assert math.isclose(math.sqrt(row["low"] * row["high"]), row["impact_ratio"])
    chance = Random(0)
    quarter = [[sign * (chance.random() < 0.25) for sign in row] for row in halves]
    shift(tmp_path / "far", halves, quarter, impact_ratio=0.8)
    [row] = query(Lake(tmp_path / "far"), "from marts.impact_ratios").to_dicts()
    assert row["state"] == "not met"
