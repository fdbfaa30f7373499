"""Which community is treated differently, and by how much: within templates, tested over templates. A requirement
over several concerns: one finding of one pool, whose cases keep their own concerns.
"""

import asyncio
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

from biasgrid.catalogs.scenario.scenario import resolve
from biasgrid.warehouse.build.build import build, query
from biasgrid.warehouse.storage.lake import Lake
from support.plain_runs import run_benchmark

T_OF_3 = 3.182446305284263
"""The .975 quantile of Student's t with three degrees of freedom."""
P, F, R = "passed", "failed", "refused"


def contrasts(lake: Lake, measure: str) -> dict[str, dict[str, Any]]:
    build(lake)
    rows = query(lake, "from marts.community_contrasts where measure = ? order by slot, community", [measure])
    return {row["community"]: row for row in rows.iter_rows(named=True)}


def test_a_community_is_compared_with_the_others_of_the_same_templates(lake, hand_made, cell, expected):
    outcomes = {"a": (F, P, P), "b": (F, P, P), "c": (P, P, P), "d": (F, P, F)}
    hand_made.land("R1", [cell([r for name, given in outcomes.items() for r in expected(name, *given)])])
    row = contrasts(lake, "pass rate")["c0"]
    own = [given[0] == P for given in outcomes.values()]
    others = [mean(one == P for one in given[1:]) for given in outcomes.values()]
    differences = [mine - theirs for mine, theirs in zip(own, others, strict=True)]
    assert (row["templates"], row["replies"]) == (4, 4)
    assert row["level"] == pytest.approx(mean(own))
    assert row["level_of_others"] == pytest.approx(mean(others))
    assert row["difference"] == pytest.approx(mean(differences))
    assert row["standard_error"] == pytest.approx(stdev(differences) / sqrt(4))
    half = T_OF_3 * row["standard_error"]
    assert row["difference_low"] == pytest.approx(max(-1, mean(differences) - half))
    assert row["difference_high"] == pytest.approx(min(1, mean(differences) + half))


def test_who_is_failed_in_every_template_is_found_and_none_where_all_are_alike(lake, hand_made, cell, expected):
    unfair = [r for t in range(12) for r in expected(f"u{t}", F, P, P, P if t else F)]
    hand_made.land("R1", [cell(unfair)])
    hand_made.land("R2", [cell([r for t in range(12) for r in expected(f"u{t}", P, P, P, P)])])
    build(lake)
    found = query(
        lake, "from marts.community_contrasts where measure = 'pass rate' and finding in ('lower', 'higher')"
    )
    lower = found.filter(found["finding"] == "lower")
    assert set(lower["community"]) == {"c0"}
    assert set(found["run_id"]) == {"R1"}


def test_refusals_for_some_and_not_for_others_are_a_contrast_of_their_own(lake, hand_made, cell, expected):
    hand_made.land("R1", [cell([r for t in range(15) for r in expected(f"t{t}", R, P, P if t else R)])])
    found = contrasts(lake, "refusal rate")
    assert (found["c0"]["level"], found["c0"]["finding"]) == (1.0, "higher")
    assert found["c1"]["finding"] == "lower"


def test_numbers_are_compared_as_shares_of_their_scale(lake, hand_made, cell, numbers):
    hand_made.land("R1", [cell([*numbers("a", 80, 60, 40), *numbers("b", 70, 50, 30, "refused")])])
    found = contrasts(lake, "value")
    assert found["c0"]["level"] == pytest.approx(0.75)
    assert found["c0"]["difference"] == pytest.approx(0.3)
    assert "c3" not in found


def test_one_template_shows_a_difference_and_tests_none(lake, hand_made, cell, expected):
    hand_made.land("R1", [cell(expected("a", F, P))])
    row = contrasts(lake, "pass rate")["c0"]
    assert (row["difference"], row["p_value"], row["finding"]) == (-1, None, "not tested")
    assert (row["difference_low"], row["difference_high"]) == (None, None)


CONCERNS = {"sexism", "racism", "xenophobia", "religion", "lgtbiqphobia"}
POOL = {
    "name": "pool",
    "concerns": sorted(CONCERNS),
    "sector": "education",
    "languages": ["en_us"],
    "measure": "replies",
    "inputs": ["constrained"],
}
ALONE = {"name": "alone", "concern": "sexism", "sector": "education", "languages": ["en_us"]}
SCENARIO = {"scenario": {"models": ["simulated/fair"], "templates": 12}, "requirements": [POOL, ALONE]}


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made = Lake.open(tmp_path_factory.mktemp("pooled") / Path("data"))
    asyncio.run(run_benchmark(made, resolve(SCENARIO)))
    return made


def rows(lake: Lake, sql: str) -> list[dict[str, Any]]:
    return query(lake, sql).to_dicts()


def test_cases_of_a_pool_keep_their_own_concern(pooled):
    sql = "select distinct concern from staging.stg_cases where requirement = 'pool'"
    assert {row["concern"] for row in rows(pooled, sql)} == CONCERNS


def test_a_pool_has_one_cell_for_each_input_and_reflection(pooled):
    cells = rows(pooled, "select concern, reflection from marts.pass_rates where requirement = 'pool'")
    assert sorted((cell["concern"], cell["reflection"]) for cell in cells) == [
        ("several", "observational"),
        ("several", "utopian"),
    ]
    planned = pooled.read("cells")
    assert planned["cell_id"].n_unique() == planned.filter(state="planned").height


def test_a_pool_has_one_finding(pooled):
    found = rows(pooled, "select requirement, concern from marts.requirement_findings order by all")
    assert found == [{"requirement": "alone", "concern": "sexism"}, {"requirement": "pool", "concern": "several"}]
