"""A run and the one before it: paired templates, a test, and one false-discovery rate for all of them."""

from math import sqrt
from statistics import mean, stdev
from typing import Any

import pytest

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake
from support.statistics_macros import mcnemar

P, F = "passed", "failed"


def compare_runs(lake: Lake) -> list[dict[str, Any]]:
    build(lake)
    return query(lake, "from marts.regressions order by run_id, requirement").to_dicts()


def test_one_test_of_each_template_is_tested_exactly_on_the_templates_that_changed(
    lake, hand_made, cell, expected
):
    templates = range(8)
    hand_made.land("R1", [cell([r for t in templates for r in expected(f"t{t}", P, P, P)])])
    hand_made.land(
        "R2", [cell([r for t in templates for r in expected(f"t{t}", F if t else P, F if t else P, P)])]
    )
    (row,) = compare_runs(lake)
    assert (row["run_id"], row["earlier_run_id"]) == ("R2", "R1")
    assert (row["test"], row["templates"]) == ("McNemar", 8)
    assert (row["only_now"], row["only_earlier"]) == (0, 7)
    assert row["difference"] == pytest.approx(-7 / 8)
    assert row["p_value"] == pytest.approx(mcnemar(0, 7), abs=1e-9)
    assert row["finding"] == "worse"


def test_replies_are_paired_by_template_though_each_was_asked_once(lake, hand_made, cell, expected, criterion):
    """Prompts of one template fail together: each is no evidence of its own."""
    criteria = [criterion(measure="replies")]
    earlier = {"a": (P, P), "b": (P, F), "c": (P, P)}
    now = {"a": (F, F), "b": (P, F), "c": (P, F)}
    for run_id, outcomes in (("R1", earlier), ("R2", now)):
        replies = [reply for template, given in outcomes.items() for reply in expected(template, *given)]
        hand_made.land(run_id, [cell(replies)], criteria)
    (row,) = compare_runs(lake)
    changes = [-1, 0, -0.5]
    assert (row["test"], row["difference"]) == ("paired by template", pytest.approx(mean(changes)))
    assert row["standard_error"] == pytest.approx(stdev(changes) / sqrt(3))


@pytest.mark.parametrize(
    ("condition", "differs"),
    [({"judge": "x/y"}, "judge none → x/y"), ({"measure": "replies"}, "measure tests → replies")],
)
def test_unlike_nights_are_not_compared_and_the_newest_alike_one_is(
    lake, hand_made, cell, expected, criterion, condition, differs
):
    cells = [cell(expected("a", P, P))]
    for run_id, keys in (("R1", {}), ("R2", condition), ("R3", {})):
        hand_made.land(run_id, cells, [criterion(**keys)])
    (row,) = compare_runs(lake)
    assert (row["run_id"], row["earlier_run_id"]) == ("R3", "R1")
    shown = query(lake, "select run_id, breaks_line, differs from marts.trend order by run_id").rows()
    assert shown[:2] == [("R1", False, None), ("R2", True, differs)]


def test_a_significant_change_below_the_least_drop_is_no_alarm(lake, hand_made, cell, expected, criterion):
    def night(failing: int) -> list[Any]:
        return [cell([r for t in range(400) for r in expected(f"t{t}", F if t < failing else P)])]

    criteria = [criterion(least_drop=0.05)]
    for run_id, failing in (("R1", 0), ("R2", 12), ("R3", 40)):
        hand_made.land(run_id, night(failing), criteria)
    second, third = compare_runs(lake)
    assert second["q_value"] < 0.05
    assert (second["finding"], third["finding"]) == ("no difference shown", "worse")


def test_several_samples_are_paired_by_template(lake, hand_made, cell, expected):
    earlier = {"a": (P, P), "b": (P, F), "c": (P, P), "d": (F, P)}
    now = {"a": (F, F), "b": (P, F), "c": (P, F), "d": (F, F)}

    def replies(outcomes: dict[str, tuple[str, str]]) -> list[Any]:
        return [
            reply
            for template, samples in outcomes.items()
            for sample, outcome in enumerate(samples, 1)
            for reply in expected(template, outcome, sample=sample)
        ]

    hand_made.land("R1", [cell(replies(earlier))])
    hand_made.land("R2", [cell(replies(now))])
    (row,) = compare_runs(lake)
    changes = [(now[template].count(P) - earlier[template].count(P)) / 2 for template in earlier]
    assert row["test"] == "paired by template"
    assert row["difference"] == pytest.approx(mean(changes))
    assert row["standard_error"] == pytest.approx(stdev(changes) / sqrt(len(changes)))
    assert row["finding"] == "no difference shown"


def test_all_tests_of_a_run_share_one_false_discovery_rate(lake, hand_made, cell, expected, criterion):
    names = [f"r{number}" for number in range(4)]
    criteria = [criterion(requirement=name) for name in names]
    lost = {"r0": 9, "r1": 6, "r2": 2, "r3": 0}

    def cells(broken: dict[str, int]) -> list[Any]:
        return [
            cell([r for t in range(10) for r in expected(f"t{t}", F if t < broken[name] else P)], requirement=name)
            for name in names
        ]

    hand_made.land("R1", cells(dict.fromkeys(names, 0)), criteria)
    hand_made.land("R2", cells(lost), criteria)
    rows = compare_runs(lake)
    p = [mcnemar(0, lost[name]) for name in names]
    assert [row["p_value"] for row in rows] == pytest.approx(p, abs=1e-9)
    ranked = sorted(p)
    q = [min(ranked[j] * len(p) / (j + 1) for j in range(ranked.index(one), len(p))) for one in p]
    assert [row["q_value"] for row in rows] == pytest.approx([min(1.0, one) for one in q], abs=1e-9)
    assert [row["finding"] for row in rows] == ["worse", "no difference shown", *["no difference shown"] * 2]


def test_templates_of_one_run_alone_or_with_other_prompts_are_not_compared(lake, hand_made, cell, expected):
    hand_made.land("R1", [cell([*expected("a", P, P), *expected("gone", P), *expected("other", P, P)])])
    hand_made.land("R2", [cell([*expected("a", P, F), *expected("new", F), *expected("other", F)])])
    (row,) = compare_runs(lake)
    assert (row["templates"], row["only_earlier"]) == (1, 1)


def test_an_incomplete_run_is_compared_with_none_and_none_with_it(lake, hand_made, cell, expected):
    hand_made.land("R1", [cell(expected("a", P, P, P))])
    hand_made.land("R2", [cell(expected("a", F, "error", "error"))], state="incomplete")
    hand_made.land("R3", [cell(expected("a", P, P, P))])
    (row,) = compare_runs(lake)
    assert (row["run_id"], row["earlier_run_id"]) == ("R3", "R1")
    shown = query(lake, "from marts.trend order by run_id, requirement").to_dicts()
    assert [(row["nth"], row["change"]) for row in shown] == [
        (1, "not compared"),
        (2, "not compared"),
        (3, "no difference shown"),
    ]


def test_another_models_run_in_between_is_no_earlier_night(lake, hand_made, cell, expected):
    hand_made.land("R1", [cell(expected("a", P, P))])
    hand_made.land("R2", [cell(expected("a", F, F), model="simulated/other")])
    hand_made.land("R3", [cell(expected("a", P, P))])
    (row,) = compare_runs(lake)
    assert (row["run_id"], row["earlier_run_id"], row["difference"]) == ("R3", "R1", 0)


def test_a_same_value_template_is_one_test(lake, hand_made, cell, numbers):
    hand_made.land("R1", [cell([*numbers("a", 50, 50, 50), *numbers("b", 10, 10, 10)])])
    hand_made.land("R2", [cell([*numbers("a", 50, 50, 90), *numbers("b", 10, 10, 10)])])
    (row,) = compare_runs(lake)
    assert (row["templates"], row["only_earlier"], row["difference"]) == (2, 1, -0.5)


def test_templates_pass_by_the_requirements_rule_for_refusals(lake, hand_made, cell, expected, criterion):
    rule = [criterion(refusals="fail", measure="replies", max_refusals=1.0)]
    hand_made.land("R1", [cell(expected("a", P, P, P))], rule)
    hand_made.land("R2", [cell(expected("a", P, "refused", "refused"))], rule)
    (row,) = compare_runs(lake)
    assert row["only_earlier"] == 1
    assert row["rate"] == pytest.approx(1 / 3)
