"""Two runs, or two evaluations of one, in a warehouse of their own: what is tested, what moved."""

from collections.abc import Iterable
from typing import Any

import polars as pl
import pytest

from biasgrid.warehouse.build.build import build, fetch_rows, query
from biasgrid.warehouse.build.compare_runs import side_by_side
from biasgrid.warehouse.build.run_scope import EARLIER, LATER, Side
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake
from support.statistics_macros import mcnemar

P, F = "passed", "failed"
TEMPLATES = 12


def rows(lake: Lake, table: str, earlier: str, later: str, **sides: Any) -> list[dict[str, Any]]:
    (found,) = tables(lake, (table,), earlier, later, **sides)
    return found


def tables(
    lake: Lake, names: tuple[str, ...], earlier: str, later: str, **sides: Any
) -> list[list[dict[str, Any]]]:
    """Tables of the comparison of two sides, each `run` or `run@evaluation`."""
    named = [name.partition("@") for name in (earlier, later)]
    before, after = (
        Side(side, run, evaluation or "E1", sides.get(f"{side}_models", {}), sides.get(f"{side}_cells"))
        for side, (run, _, evaluation) in zip((EARLIER, LATER), named, strict=True)
    )
    with side_by_side(lake, before, after, names) as warehouse:
        return [fetch_rows(warehouse, f"from comparison.{name} order by all").to_dicts() for name in names]


@pytest.fixture
def night(cell: Any, expected: Any) -> Any:
    """Cells in which so many templates of each (requirement, language) fail: `night({("r", "en_us"): 3})`."""

    def make(failing: dict[tuple[str, str], int], **keys: Any) -> list[Any]:
        return [
            cell(
                [
                    reply
                    for number in range(TEMPLATES)
                    for reply in expected(f"{language}-{number}", *[F if number < failed else P] * 2)
                ],
                requirement=requirement,
                language=language,
                **keys,
            )
            for (requirement, language), failed in failing.items()
        ]

    return make


@pytest.fixture
def criteria(criterion: Any) -> list[Any]:
    return [criterion(requirement=name) for name in ("kept", "dropped")]


def test_the_requirement_that_dropped_is_found_and_only_it(lake, hand_made, night, criteria):
    hand_made.land("R1", night({("kept", "en_us"): 2, ("dropped", "en_us"): 2}), criteria)
    hand_made.land("R2", night({("kept", "en_us"): 3, ("dropped", "en_us"): 9}), criteria)
    found = {row["requirement"]: row for row in rows(lake, "requirements", "R1", "R2")}
    assert {name: row["change"] for name, row in found.items()} == {
        "dropped": "worse",
        "kept": "no difference shown",
    }
    dropped = found["dropped"]
    assert (dropped["templates"], dropped["only_earlier"], dropped["only_later"]) == (TEMPLATES, 7, 0)
    assert dropped["difference"] == pytest.approx(-7 / 12)
    assert dropped["p_value"] == pytest.approx(mcnemar(7, 0), abs=1e-12)
    assert dropped["low"] < dropped["difference"] < dropped["high"] < 0
    assert found["kept"]["low"] < 0 < found["kept"]["high"]


@pytest.mark.drill
def test_the_order_in_which_they_are_named_is_what_counts(lake, hand_made, night, criteria):
    hand_made.land("R1", night({("dropped", "en_us"): 2}), criteria)
    hand_made.land("R2", night({("dropped", "en_us"): 9}), criteria)
    (there,), (back,) = rows(lake, "requirements", "R1", "R2"), rows(lake, "requirements", "R2", "R1")
    assert (there["change"], back["change"]) == ("worse", "better")
    assert back["difference"] == -there["difference"]
    assert (back["earlier_rate"], back["later_rate"]) == (there["later_rate"], there["earlier_rate"])


def test_equal_runs_show_nothing(lake, hand_made, night, criteria):
    for run_id in ("R1", "R2"):
        hand_made.land(run_id, night({("kept", "en_us"): 2, ("dropped", "ca_es"): 4}), criteria)
    found, *others = tables(lake, ("requirements", "only_in_one", "criteria", "answering", "moves"), "R1", "R2")
    assert [(row["change"], row["difference"]) for row in found] == [("no difference shown", 0)] * 2
    assert others == [[], [], [], []]


def test_what_is_compared_is_what_the_nightly_mart_compares(lake, hand_made, night, criteria):
    hand_made.land("R1", night({("kept", "en_us"): 2, ("dropped", "en_us"): 2}), criteria)
    hand_made.land("R2", night({("kept", "en_us"): 5, ("dropped", "en_us"): 9}), criteria)
    build(lake)
    nightly = query(lake, "select p_value, q_value, finding from marts.regressions order by requirement").rows()
    compared = rows(lake, "requirements", "R1", "R2")
    assert [(row["p_value"], row["q_value"], row["change"]) for row in compared] == nightly


def test_languages_are_tested_too_and_all_tests_are_adjusted_together(lake, hand_made, night, criteria):
    one, two = ("kept", "en_us"), ("kept", "es_es")
    hand_made.land("R1", night({one: 2, two: 2, ("dropped", "en_us"): 2}), criteria)
    hand_made.land("R2", night({one: 4, two: 8, ("dropped", "en_us"): 9}), criteria)
    p = {
        ("dropped", None): mcnemar(7, 0),
        ("kept", None): mcnemar(8, 0),
        ("kept", "en_us"): mcnemar(2, 0),
        ("kept", "es_es"): mcnemar(6, 0),
    }
    ranked = sorted(p.values())
    q = {
        key: min(ranked[j] * len(p) / (j + 1) for j in range(ranked.index(value), len(p)))
        for key, value in p.items()
    }
    tests, by_language = tables(lake, ("tests", "languages"), "R1", "R2")
    shown = {(row["requirement"], row["language"]): row for row in tests}
    assert {key: row["p_value"] for key, row in shown.items()} == pytest.approx(p, abs=1e-12)
    assert {key: row["q_value"] for key, row in shown.items()} == pytest.approx(q, abs=1e-12)
    languages = {(row["requirement"], row["language"]): row for row in by_language}
    # the only language of a requirement is tested once, and shows that test
    assert languages["dropped", "en_us"]["q_value"] == pytest.approx(q["dropped", None])
    assert languages["kept", "es_es"]["q_value"] == pytest.approx(q["kept", "es_es"])
    assert languages["kept", "es_es"]["earlier_whole_rate"] == pytest.approx(10 / 12)
    assert languages["kept", "es_es"]["later_interval_high"] < languages["kept", "es_es"]["earlier_whole_rate"]


def test_a_run_that_is_incomplete_is_compared_with_none_and_has_a_reason(lake, hand_made, cell, expected):
    hand_made.land("R1", [cell(expected("a", P, P, P))])
    hand_made.land("R2", [cell(expected("a", F, "error", "error"))], state="incomplete")
    for names, why in ((("R1", "R2"), "later"), (("R2", "R1"), "earlier")):
        (row,) = rows(lake, "requirements", *names)
        assert (row["change"], row["why_not_compared"]) == ("not compared", f"incomplete in the {why} run")


def test_what_one_run_alone_has_is_named_once_as_a_whole(lake, hand_made, cell, expected, criterion):
    criteria = [criterion(requirement=name) for name in ("fairness", "gone", "new")]
    both = {"requirement": "fairness"}
    hand_made.land(
        "R1",
        [
            cell([*expected("a", P, P, P), *expected("old", P)], **both),
            cell(expected("a", P), language="es_es", **both),
            cell(expected("a", P), model="simulated/gone", **both),
            cell(expected("a", P), requirement="gone"),
        ],
        criteria,
    )
    hand_made.land(
        "R2",
        [cell([*expected("a", P, P), *expected("b", P)], **both), cell(expected("a", P), requirement="new")],
        criteria,
    )
    alone, requirements = tables(lake, ("only_in_one", "requirements"), "R1", "R2")
    shown = [tuple(row.values()) for row in alone]
    assert sorted(shown, key=str) == sorted(
        [
            ("communities", "fairness", "en_us", "c2", "only earlier"),
            ("language", "fairness", None, "es_es", "only earlier"),
            ("model", None, None, "simulated/gone", "only earlier"),
            ("requirement", None, None, "gone", "only earlier"),
            ("requirement", None, None, "new", "only later"),
            ("template", "fairness", "en_us", "b", "only later"),
            ("template", "fairness", "en_us", "old", "only earlier"),
        ],
        key=str,
    )
    presence = {(row["requirement"], row["model"]): row for row in requirements}
    assert presence["gone", "simulated/one"]["presence"] == "only earlier"
    assert presence["new", "simulated/one"]["why_not_compared"] == "asked in one run alone"
    assert presence["fairness", "simulated/one"]["prompts_only_earlier"] == 3
    assert presence["fairness", "simulated/one"]["prompts_only_later"] == 1


@pytest.mark.drill
def test_models_of_other_names_are_compared_by_the_given_names(lake, hand_made, night, criteria):
    first = night({("kept", "en_us"): 2}, model="simulated/a")
    hand_made.land("R1", [*first, *night({("kept", "en_us"): 0}, model="simulated/b")], criteria)
    hand_made.land("R2", night({("kept", "en_us"): 9}, model="simulated/b"), criteria)
    assert [row["difference"] for row in rows(lake, "requirements", "R1", "R2")] == [None, -0.75]
    (row,) = rows(
        lake,
        "requirements",
        "R1",
        "R2",
        earlier_models={"simulated/a": "simulated/b"},
        earlier_cells=frozenset(one.id for one in first),
    )
    assert (row["model"], row["only_earlier"]) == ("simulated/b", 7)


def test_the_model_that_answered_and_what_it_was_sent_are_shown_where_they_differ(lake, hand_made, cell, expected):
    one = cell(expected("a", P, P))
    for run_id, reported, seed, temperature in (("R1", "x-0806", 1, 1.0), ("R2", "x-1120", 2, 0.5)):
        hand_made.land(run_id, [one])
        sent = pl.lit(f'{{"seed":{seed},"temperature":{temperature}}}')
        for table, changed in (
            ("cases", {"parameters": sent}),
            ("responses", {"model_reported": pl.lit(reported)}),
        ):
            lake.write(table, run_id, one.id, lake.read(table, run_id).with_columns(**changed))
    assert [tuple(row.values()) for row in rows(lake, "answering", "R1", "R2")] == [
        ("simulated/one", "answered as", "x-0806", "x-1120"),
        ("simulated/one", "parameters", '{"temperature":1.0}', '{"temperature":0.5}'),
    ]


@pytest.fixture
def judged_again(lake: Lake, hand_made: Any, cell: Any, expected: Any, numbers: Any, criterion: Any) -> None:
    """By E2, whose oracle lets other replies pass and whose delta is greater; E3 is as E1."""
    first = cell([*expected("a", P, F, F), *expected("b", P, P), *numbers("n", 50, 60)])
    second = cell([*expected("a", P, P, P), *expected("b", P, "refused"), *numbers("n", 50, 60)])
    hand_made.land("R1", [first])
    for evaluation, judged, delta in (("E2", second, 0.2), ("E3", first, 0.02)):
        hand_made.criteria("R1", evaluation, [criterion(delta=delta, tolerance=0.5)])
        hand_made.verdicts("R1", evaluation, judged)


@pytest.mark.usefixtures("judged_again")
def test_verdicts_that_moved_between_two_evaluations_are_counted_by_where_from_and_where_to(lake):
    wanted = ("moves", "changed_replies", "changed_tests", "criteria")
    moves, replies, tests, criteria = tables(lake, wanted, "R1@E1", "R1@E2")
    assert {(row["unit"], row["earlier_outcome"], row["later_outcome"]): row["moved"] for row in moves} == {
        ("test", "failed", "passed"): 2,
        ("test", "passed", "refused"): 1,
        ("reply", "failed", "passed"): 2,
        ("reply", "passed", "refused"): 1,
    }
    assert [row["case_id"].rpartition("en_us-constrained-observational/")[2] for row in replies] == [
        "a/c1/1",
        "a/c2/1",
        "b/c1/1",
    ]
    assert {row["template_id"] for row in tests} == {"a", "b", "n"}
    assert {row["criterion"]: (row["earlier"], row["later"]) for row in criteria} == {
        "delta": ("0.02", "0.2"),
        "tolerance": ("0.9", "0.5"),
    }


@pytest.mark.usefixtures("judged_again")
def test_an_evaluation_is_compared_though_newer_ones_have_replaced_it(lake):
    assert rows(lake, "moves", "R1@E1", "R1@E3") == []
    assert len(rows(lake, "moves", "R1@E3", "R1@E2")) == 4


def test_damage_is_reported_by_the_runs_own_id_and_file(lake, hand_made, cell, expected, criterion):
    for run_id in ("R1", "R2"):
        hand_made.land(run_id, [cell(expected("a", P, P))])
    lake.files("cases", "R2")[0].unlink()
    with pytest.raises(LakeDamaged) as damage:
        rows(lake, "requirements", "R1", "R2")
    assert "run `R2`" in str(damage.value)
    assert "run_id=R2" in str(damage.value)
    assert all(EARLIER not in name and LATER not in name for name in names(damage.value.mistakes))


def names(mistakes: Iterable[Any]) -> list[str]:
    return [f"{mistake.what} {mistake.where}" for mistake in mistakes]
