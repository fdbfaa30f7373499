"""A target file that is to be attacked: every mistake at once, before anything is sent."""

from typing import Any

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.scenario.targets import resolve_attack

PARTS = {"attacker": "simulated/attacker", "judge": "simulated/red-judge"}


def write_target(**settings: Any) -> dict[str, Any]:
    return {"target": {"models": ["simulated/fair"]}, "redteam": {**PARTS, **settings}}


def list_refusals(given: dict[str, Any]) -> str:
    with pytest.raises(UserError) as reported:
        resolve_attack(given)
    return str(reported.value)


def test_a_file_is_resolved_and_read_again_the_same():
    resolved = resolve_attack(write_target(turns=3))
    again = resolve_attack(resolved.as_json())
    assert (again.file.redteam, again.file.target) == (resolved.file.redteam, resolved.file.target)
    assert (again.judge, again.attacker) == (resolved.judge, resolved.attacker)
    assert {target.model for target in resolved.asked} == {"simulated/fair", *PARTS.values()}


@pytest.mark.parametrize("seed", range(5))
def test_as_many_pairs_are_drawn_as_are_wanted_all_with_words_in_its_languages(seed):
    given = write_target(pairs=9) | {"asking": {"seed": seed}}
    given["target"]["languages"] = ["en_us", "ca_es"]
    pairs = [pair for _, pair in resolve_attack(given).pairs]
    assert len(pairs) == 9
    assert all({"en_us", "ca_es"} <= pair.attributes.keys() for pair in pairs)


def test_a_judge_there_must_be():
    assert "no judge is named" in list_refusals(write_target(judge=None))


def test_an_attacker_is_needed_by_most_strategies_and_not_by_all():
    assert "`direct`" in list_refusals(write_target(attacker=None))
    resolve_attack(write_target(attacker=None, strategies=["one_shot", "implicit_separated"]))


def test_no_model_judges_its_own_replies_unless_allowed():
    own = write_target(judge="simulated/fair")
    assert "would judge its own replies" in list_refusals(own)
    own["redteam"]["judge_may_be_target"] = True
    resolve_attack(own)


def test_what_is_unknown_is_reported_with_what_is_near_all_at_once():
    reported = list_refusals(write_target(pairs=["doctor-nurze"], axes=["gendre"], judge="simulated/red-juge"))
    for part in ("doctor-nurse", "`gender`", "red-judge"):
        assert part in reported
    assert "`flattery`" in list_refusals(write_target(strategies=["flattery"]))
