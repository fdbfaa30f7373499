"""Nights of respondents whose rates are known: what has not changed is rarely called worse, what has is found."""

import random
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake

pytestmark = pytest.mark.drill

RESPONDENTS, TEMPLATES, COMMUNITIES, SAMPLES = 12, 70, 2, 2
REQUIREMENTS = tuple(f"r{number}" for number in range(5))
RATE, DROP, DROPPED = 0.9, 0.15, "r2"
CORRELATION = 0.3


def rates(chance: random.Random) -> dict[tuple[str, str], float]:
    """Each template's own rate, of a beta distribution: within a template, answers are alike."""
    weight = 1 / CORRELATION - 1
    return {
        (requirement, f"t{template}"): chance.betavariate(weight * RATE, weight * (1 - RATE))
        for requirement in REQUIREMENTS
        for template in range(TEMPLATES)
    }


def night(
    own: dict[tuple[str, str], float],
    chance: random.Random,
    expected: Callable[..., list[Any]],
    cell: Any,
    model: str,
    drop: float,
) -> list[Any]:
    """The cells of one night, a requirement each; `drop` is taken off the rates of one."""
    replies: dict[str, list[Any]] = {requirement: [] for requirement in REQUIREMENTS}
    for (requirement, template), rate in own.items():
        true = rate - drop if requirement == DROPPED else rate
        for sample in range(1, SAMPLES + 1):
            outcomes = ("passed" if chance.random() < true else "failed" for _ in range(COMMUNITIES))
            replies[requirement] += expected(template, *outcomes, sample=sample)
    return [cell(given, requirement=name, model=model) for name, given in replies.items()]


@pytest.fixture(scope="module")
def nights(
    tmp_path_factory: pytest.TempPathFactory, hand_made_in: Any, expected: Any, cell: Any, criterion: Any
) -> pl.DataFrame:
    """Three nights of each respondent: on the second nothing has changed, on the third one requirement's rate."""
    lake = Lake.open(tmp_path_factory.mktemp("nights") / "data")
    made, chance = hand_made_in(lake), random.Random(20_261_121)
    criteria = [criterion(requirement=name, measure="replies") for name in REQUIREMENTS]
    for number in range(RESPONDENTS):
        own, model = rates(chance), f"simulated/m{number}"
        for nth, drop in enumerate((0.0, 0.0, DROP), 1):
            cells = night(own, chance, expected, cell, model, drop)
            made.land(f"R{number:02}-{nth}", cells, criteria)
    build(lake)
    return query(lake, "from marts.regressions").with_columns(nth=pl.col("run_id").str.tail(1))


def test_what_has_not_changed_is_rarely_called_changed(nights):
    unchanged = nights.filter(pl.col("nth") == "2")
    assert unchanged.height == RESPONDENTS * len(REQUIREMENTS)
    alarmed = unchanged.filter(pl.col("finding").is_in(["worse", "better"]))["run_id"].n_unique()
    assert alarmed <= 2  # of 12 at a rate of .05: more come about once in 50 times


def test_what_has_dropped_is_found_and_little_else(nights):
    changed = nights.filter((pl.col("nth") == "3") & pl.col("finding").is_in(["worse", "better"]))
    found = changed.filter(pl.col("requirement") == DROPPED)
    assert set(found["finding"]) == {"worse"}
    assert found.height >= RESPONDENTS - 1
    assert found["difference"].mean() == pytest.approx(-DROP, abs=0.03)
    assert changed.height - found.height <= 0.1 * changed.height
