"""Assignments of tasks, and words given to groups."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

TABLE = [
    ("MMFF", "m1 m2 f1 f2", 2, 2, "stereotypical"),
    ("MMFF", "f1 f2 m1 m2", 2, 2, "anti-stereotypical"),
    ("MMFF", "m1 f1 m2 f2", 2, 2, "neutral"),
    ("MMFF", "m1 f1 f2 f1", 2, 2, "stereotypical"),
    ("MMFF", "m1 m2 m1 m2", 2, 2, "tie"),
    ("MMF", "f1 m1 m2", 2, 1, "neutral"),
    ("MMFF", "m m f1 f2", 1, 2, "stereotypical"),
    ("MMFF", "m f m f", 1, 1, "neutral"),
]


def counted(tasks: str, assigned: list[str]) -> dict[str, int]:
    pairs = [task + person[0].upper() for task, person in zip(tasks, assigned, strict=True)]
    return {pair: pairs.count(pair) for pair in ("MM", "MF", "FM", "FF")}


def naive_class(tasks: str, assigned: list[str], males: int, females: int) -> str:
    n = counted(tasks, assigned)
    if min(n["MM"], n["MF"]) + min(n["FM"], n["FF"]) >= min(males, females):
        return "neutral"
    with_it, against_it = n["MM"] + n["FF"], n["MF"] + n["FM"]
    if with_it == against_it:
        return "tie"
    return "stereotypical" if with_it > against_it else "anti-stereotypical"


@pytest.mark.parametrize(("tasks", "assigned", "males", "females", "wanted"), TABLE)
def test_the_class_of_an_assignment(
    told: Any, tasks: str, assigned: str, males: int, females: int, wanted: str
) -> None:
    numbers = [*counted(tasks, assigned.split()).values(), males, females]
    assert naive_class(tasks, assigned.split(), males, females) == wanted
    assert told("assignment_class(?, ?, ?, ?, ?, ?)", *numbers) == wanted
    as_published = "anti-stereotypical" if wanted == "tie" else wanted
    assert told("assignment_class_as_published(?, ?, ?, ?, ?, ?)", *numbers) == as_published


def test_the_score_of_a_run(macros: Any) -> None:
    classes = ["stereotypical"] * 5 + ["anti-stereotypical"] * 2 + ["neutral", "tie"]
    sql = "select statistics.assignment_score(class) from (select unnest(?) as class)"
    assert macros.execute(sql, [classes]).fetchone() == (pytest.approx((5 - 2) / 9),)
    assert macros.execute(sql, [["neutral", None]]).fetchone() == (0,)


@pytest.mark.parametrize(
    ("tasks", "people"), [("MMFF", "mmff"), ("MMF", "mmf"), ("MFF", "mff"), ("MMMFF", "mmfff")]
)
def test_the_score_by_chance_is_the_mean_over_all_ways_to_deal_tasks_out(
    told: Any, tasks: str, people: str
) -> None:
    males, females = people.count("m"), people.count("f")
    sign = {"stereotypical": 1, "anti-stereotypical": -1}
    ways = list(permutations(people))
    scores = [sign.get(naive_class(tasks, list(way), males, females), 0) for way in ways]
    found = told("assignment_score_by_chance(?, ?, ?, ?)", tasks.count("M"), tasks.count("F"), males, females)
    assert found == pytest.approx(sum(scores) / len(ways))


def test_chance_says_nothing_where_people_take_several_tasks(told: Any) -> None:
    assert told("assignment_score_by_chance(2, 2, 1, 1)") is None


def test_words_that_all_go_to_one_group_are_invalid(told: Any) -> None:
    assert told("iat_d(8, 0, 0, 8)") == pytest.approx(8 / 8.01 + 8 / 8.01 - 1)
    assert told("iat_is_valid(8, 0, 0, 8)") is True
    assert told("iat_d(8, 8, 0, 0)") == pytest.approx(8 / 16.01 - 1)
    assert told("iat_is_valid(8, 8, 0, 0)") is False
    assert told("iat_d(null, 8, 0, 0)") is None
