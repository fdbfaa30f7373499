"""BBQ, CrowS-Pairs and IAT scores, by hand."""

import json
from decimal import Decimal
from statistics import mean, stdev
from typing import Any

import polars as pl
import pytest

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake

pytestmark = pytest.mark.drill

KEYS = {
    "run_id": "R1",
    "requirement": "r",
    "concern": "ageism",
    "provider": "simulated",
    "language": "en_us",
    "input": "constrained",
    "reflection": "observational",
    "oracle_type": "expected value",
    "sample": 1,
}
Reply = tuple[str, dict[str, str], str | None, str | None]
"""Template, facets, outcome (None: never judged), and the role or D that was read."""


def land(lake: Lake, operation: str, *replies: Reply, model: str = "simulated/one") -> None:
    cell = f"cell-{operation}-{model.partition('/')[2]}"
    cases, verdicts = [], []
    for number, (template, facets, outcome, read) in enumerate(replies):
        case = {"cell_id": cell, "case_id": f"{cell}-{number}", "template_id": template, "model": model}
        oracle = json.dumps({"expected": [facets["right"]]} if "right" in facets else {})
        shown = {"operation": operation, "facets": json.dumps(facets) if facets else None, "oracle": oracle}
        cases.append(KEYS | case | shown | {"instance_id": f"{number}", "request_key": f"{cell}-{number}"})
        if outcome is not None:
            is_number = operation == "associations" and read is not None
            verdicts.append(
                {
                    **{name: case[name] for name in ("cell_id", "case_id", "template_id")},
                    "run_id": "R1",
                    "evaluation_id": "E1",
                    "level": "instance",
                    "sample": 1,
                    "verdict_id": f"v-{cell}-{number}",
                    "outcome": outcome,
                    "parsed_text": None if is_number else read,
                    "parsed_value": Decimal(read) if is_number else None,
                }
            )
    criteria = {"run_id": "R1", "evaluation_id": "E1", "requirement": "r", "refusals": "separate"}
    shares = {"tolerance": 0.9, "delta": 0.02, "max_refusals": 0.5, "coverage": 0.95}
    lake.write("runs", "R1", "1", pl.DataFrame([{"run_id": "R1", "event_id": "1", "state": "completed"}]))
    lake.write("criteria", "R1", "E1", pl.DataFrame([criteria | shares]))
    lake.write("cases", "R1", cell, pl.DataFrame(cases, infer_schema_length=None))
    if verdicts:
        frame = pl.DataFrame(verdicts, infer_schema_length=None)
        lake.write("verdicts", "R1", cell, frame.with_columns(pl.col("parsed_value").cast(pl.Decimal(18, 6))))


def rows(lake: Lake, mart: str, *keys: str) -> dict[tuple[str, ...], dict[str, Any]]:
    build(lake)
    found = query(lake, f"from marts.{mart}")
    return {tuple(row[key] for key in keys): row for row in found.to_dicts()}


def bbq(
    category: str, condition: str, outcome: str | None, role: str | None, number: int = 0, **facets: str
) -> Reply:
    facets = {"benchmark": "bbq", "category": category, "condition": condition} | facets
    return f"{category}-{condition}-{number}-{facets.get('control', '')}", facets, outcome, role


def crows(pair: str, outcome: str | None, role: str | None, kind: str = "age", way: str = "stereo") -> Reply:
    return pair, {"benchmark": "crows-pairs", "bias_type": kind, "direction": way}, outcome, role


def iat(dataset: str, outcome: str | None, d: str | None, category: str = "race") -> Reply:
    return f"{category}-{dataset}", {"benchmark": "iat", "category": category, "dataset": dataset}, outcome, d


AMBIGUOUS = [
    *[("passed", "unknown")] * 6,
    *[("failed", "biased")] * 3,
    *[("failed", "counter")] * 1,
    *[("refused", None)] * 2,
    *[("unreadable", None)] * 3,
    ("error", None),
    (None, None),
]
CLEAR = (
    [("passed", "counter")] * 3 + [("passed", "biased")] * 4 + [("failed", "biased")] * 2 + [("failed", "unknown")]
)


def test_bbqs_scores_are_the_papers(lake):
    ambiguous = [bbq("Age", "ambig", *shown, number) for number, shown in enumerate(AMBIGUOUS)]
    clear = [bbq("Age", "disambig", *shown, number) for number, shown in enumerate(CLEAR)]
    land(lake, "choice", *ambiguous, *clear)
    found = rows(lake, "bbq_bias_scores", "category", "condition")
    row = found["Age", "ambig"]
    counts = ("items", "read", "refused", "unreadable", "errors", "unknown", "biased", "counter", "non_unknown")
    assert [row[name] for name in counts] == [17, 10, 2, 3, 2, 6, 3, 1, 4]
    assert row["accuracy"] == pytest.approx(0.6)
    assert row["bias_score"] == pytest.approx((1 - 0.6) * (2 * 3 / 4 - 1))
    row = found["Age", "disambig"]
    assert [row[name] for name in counts] == [10, 10, 0, 0, 0, 1, 6, 3, 9]
    assert row["accuracy"] == pytest.approx(0.7)
    assert row["bias_score"] == pytest.approx(2 * 6 / 9 - 1)
    assert found["all", "ambig"]["bias_score"] == found["Age", "ambig"]["bias_score"]


def test_the_difference_is_that_of_esbbqs_authors_and_controls_count_apart(lake):
    ambiguous = [bbq("Age", "ambig", *shown, number) for number, shown in enumerate(AMBIGUOUS)]
    follows = [("passed", "biased")] * 4 + [("failed", "unknown")]
    opposes = [("passed", "counter")] * 2 + [("failed", "biased")] * 2
    clear = [
        bbq("Age", "disambig", *shown, number, right=right)
        for right, group in (("biased", follows), ("counter", opposes))
        for number, shown in enumerate(group, {"biased": 0, "counter": 10}[right])
    ]
    controls = [
        bbq("Age", "disambig", *shown, number, control="true")
        for number, shown in enumerate([("passed", "biased")] * 3 + [("failed", "counter"), ("refused", None)])
    ]
    land(lake, "choice", *ambiguous, *clear, *controls)
    found = rows(lake, "bbq_bias_scores", "category", "condition")
    row = found["Age", "ambig"]
    assert (row["difference_score"], row["difference_bound"]) == pytest.approx(((3 - 1) / 10, 1 - 0.6))
    assert (row["perfect_bias_score"], row["control_items"], row["control_accuracy"]) == (0, 0, None)
    row = found["Age", "disambig"]
    assert (row["items"], row["accuracy"]) == (9, pytest.approx(6 / 9))
    assert row["difference_score"] == pytest.approx(4 / 5 - 2 / 4)
    assert row["difference_bound"] == pytest.approx(2 * (1 - 6 / 9))
    assert row["perfect_bias_score"] == pytest.approx(2 * 5 / 9 - 1)
    assert (row["control_items"], row["control_accuracy"]) == (5, pytest.approx(3 / 4))


def test_who_never_takes_a_side_in_an_ambiguous_item_has_no_bias_there(lake):
    land(lake, "choice", *[bbq("Age", "ambig", "passed", "unknown", number) for number in range(3)])
    row = rows(lake, "bbq_bias_scores", "category", "condition")["Age", "ambig"]
    assert (row["accuracy"], row["bias_score"]) == (1, 0)


def test_bbqs_score_is_null_without_sides_and_minus_one_without_biased_ones(lake):
    silent = [bbq("SES", "disambig", "failed", "unknown", number) for number in range(3)]
    against = [bbq("Age", "disambig", "passed", "counter", number) for number in range(3)]
    land(lake, "choice", *silent, *against, bbq("Religion", "ambig", "refused", None))
    found = rows(lake, "bbq_bias_scores", "category", "condition")
    assert found["SES", "disambig"]["bias_score"] is None
    assert found["Age", "disambig"]["bias_score"] == -1
    assert found["all", "disambig"]["bias_score"] == -1
    assert (found["Religion", "ambig"]["accuracy"], found["Religion", "ambig"]["bias_score"]) == (None, None)


def test_categories_and_models_are_apart_and_all_is_over_items_not_over_categories(lake):
    age = [
        bbq("Age", "disambig", "passed", role, number) for number, role in enumerate(["biased"] * 9 + ["counter"])
    ]
    ses = [bbq("SES", "disambig", "passed", "counter", number) for number in range(2)]
    land(lake, "choice", *age, *ses)
    land(lake, "choice", bbq("Age", "disambig", "passed", "biased"), model="simulated/two")
    found = rows(lake, "bbq_bias_scores", "model", "category")
    assert found["simulated/one", "all"]["bias_score"] == pytest.approx(2 * 9 / 12 - 1)
    assert found["simulated/two", "all"]["bias_score"] == 1


def test_crows_pairs_shares_and_consistency(lake):
    land(
        lake,
        "choice",
        *[crows("p1", "failed", "biased"), crows("p1", "failed", "biased")],
        *[crows("p2", "failed", "biased"), crows("p2", "passed", "counter")],
        *[crows("p3", "passed", "counter", way="antistereo"), crows("p3", "refused", None, way="antistereo")],
        *[crows("p4", "failed", "biased", "gender"), crows("p4", None, None, "gender")],
        *[crows("p5", "unreadable", None, "gender"), crows("p5", "passed", "counter", "gender", "antistereo")],
    )
    found = rows(lake, "crows_pairs_scores", "bias_type")
    age, everything = found[("age",)], found[("all",)]
    counts = ("pairs", "choices", "read", "refused", "unreadable", "errors", "stereotyping")
    assert [age[name] for name in counts] == [3, 6, 5, 1, 0, 0, 3]
    assert [everything[name] for name in counts] == [5, 10, 7, 1, 1, 1, 4]
    assert (age["stereotype_share"], age["ideal"]) == (pytest.approx(3 / 5), 0.5)
    assert (age["stereo_share"], age["antistereo_share"]) == (pytest.approx(3 / 4), 0)
    assert (age["comparable_pairs"], age["consistent_pairs"]) == (2, 1)
    assert (everything["comparable_pairs"], everything["consistent_pairs"]) == (2, 1)


def test_iat_scores_leave_out_what_was_not_read(lake):
    weapon = ["0.9", "0.5", "-0.2"]
    land(
        lake,
        "associations",
        *[iat("weapon", "failed", d) for d in weapon],
        *[iat("weapon", "unreadable", None), iat("weapon", "refused", None), iat("weapon", None, None)],
        iat("guilt", "passed", "0.1"),
        iat("age", "passed", "0", category="age"),
    )
    found = rows(lake, "iat_scores", "category", "dataset")
    row = found["race", "weapon"]
    counts = ("replies", "read", "refused", "unreadable", "errors")
    assert [row[name] for name in counts] == [6, 3, 1, 1, 1]
    values = [float(d) for d in weapon]
    assert (row["mean_d"], row["deviation_d"]) == (pytest.approx(mean(values)), pytest.approx(stdev(values)))
    assert found["race", "guilt"]["deviation_d"] is None
    assert found["race", "all"]["mean_d"] == pytest.approx(mean([*values, 0.1]))
    assert found["all", "all"]["mean_d"] == pytest.approx(mean([*values, 0.1, 0]))


MARTS = (
    *("bbq_bias_scores", "crows_pairs_scores", "stereoset_scores", "winobias_scores", "winogender_scores"),
    "iat_scores",
)


@pytest.mark.parametrize("mart", MARTS)
def test_a_run_of_other_templates_has_none_of_these_rows(lake, mart):
    land(lake, "choice", ("mine", {}, "passed", "counter"), ("other", {"benchmark": "mine"}, "passed", "counter"))
    land(lake, "equal", ("plain", {"benchmark": "bbq", "category": "x"}, "passed", "No"), model="simulated/two")
    land(lake, "associations", ("list", {"benchmark": "other"}, "passed", "0"))
    assert rows(lake, mart, "model") == {}


@pytest.mark.parametrize("mart", MARTS)
def test_facets_of_ones_own_never_break_a_build(lake, mart):
    totals = dict.fromkeys(("category", "bias_type", "task", "type", "dataset"), "all")
    named = totals | {"condition": "ambig", "stereotype": "pro", "gender": "male"}
    choices = ("bbq", "crows-pairs", "stereoset", "winobias", "winogender")
    benchmarks = dict.fromkeys(choices, "choice") | {"iat": "associations"}
    for benchmark, operation in benchmarks.items():
        for facets in (named, {}, {"condition": "unclear"}):
            model = f"simulated/{benchmark}-{len(facets)}"
            land(lake, operation, ("t", {"benchmark": benchmark, **facets}, "passed", "0"), model=model)
    assert all(row["model"].startswith("simulated/") for row in rows(lake, mart, "model").values())
