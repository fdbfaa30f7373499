"""Which requirements are found decidable before anything is sent, and what is reported of those that are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.scenario.scenario import resolve
from biasgrid.flows.benchmark.forecast import forecast
from biasgrid.flows.forecast.power import describe_power, refuse_undecidable
from biasgrid.flows.forecast.totals import Forecast

Planned = Callable[..., Forecast]


@pytest.fixture
def planned(scenario: Any, requirement: Any, monkeypatch: pytest.MonkeyPatch) -> Planned:
    """The forecast of requirements: `planned({"name": "a"}, …, templates=…)`."""
    monkeypatch.delenv("BIASGRID_CATALOG", raising=False)

    def make(*changes: dict[str, Any], **settings: Any) -> Forecast:
        whole = {"inputs": ["constrained", "verbose"], "measure": "tests"}
        asked = [requirement(**whole | change) for change in changes or ({},)]
        given = scenario(["simulated/fair"], asked, **{"templates": 1000, **settings})
        return forecast(resolve(given))

    return make


def test_a_template_and_its_twin_count_once(planned):
    expected = planned()
    (power,) = expected.power
    assert power.templates < sum(int(str(cell["templates"])) for cell in expected.by_cell)
    assert (power.missing, power.remedy, power.templates_if_perfect) == (0, "", 38)
    assert 0 < (power.met_at_95 or 0) < (power.met_at_98 or 0) < (power.met_at_99 or 0) < 1


def test_one_community_leaves_out_what_compares_several(planned):
    both, alone = planned(
        {"name": "both", "communities": {"en_us": ["women", "men"]}},
        {"name": "alone", "communities": {"en_us": ["women"]}, "reflections": ["observational"]},
    ).power
    assert 0 < alone.templates < both.templates
    assert alone.missing == 38 - alone.templates > 0


@pytest.mark.parametrize(
    ("changes", "settings", "remedy"),
    [
        ({}, {"templates": 5}, "raise `templates`"),
        ({"inputs": ["verbose"]}, {}, "leave out `inputs` and `reflections`"),
        ({"sector": "housing"}, {}, "name a `library`"),
        ({"tolerance": 1}, {}, "lower `tolerance`"),
    ],
)
def test_what_keeps_a_requirement_from_being_met_is_named(planned, changes, settings, remedy):
    expected = planned(changes, **settings)
    (power,) = expected.power
    assert not power.is_decidable
    assert power.remedy.startswith(remedy)
    assert power.missing is None or power.missing == 38 - power.templates > 0
    (sentence,) = describe_power(expected.power)
    assert sentence.startswith(f"1 can never be met: {remedy}")
    assert "genders-alike (en_us" in sentence


def test_many_that_cannot_be_decided_are_one_sentence(planned):
    names = [f"r{number}" for number in range(5)]
    able, short = describe_power(
        planned({"name": "able"}, *({"name": n, "sector": "housing"} for n in names)).power
    )
    assert able.startswith("1 of 6 requirements × languages can be decided; met at a true 98% with a chance of ")
    assert all(f"{name} (en_us" in short for name in names[:3])
    assert short.endswith("and 2 more")


def test_samples_and_replies_say_more_than_one_test_a_template(planned):
    (once,), (thrice,) = (planned({}, samples=samples).power for samples in (1, 3))
    (replies,) = planned({"measure": "replies"}).power
    assert (once.met_at_98 or 0) < (thrice.met_at_98 or 0)
    assert (once.met_at_98 or 0) < (replies.met_at_98 or 0)
    assert once.templates == thrice.templates == replies.templates


def test_only_a_measure_left_to_the_default_over_many_instances_is_cautioned(scenario, requirement):
    countries = {"concern": "xenophobia", "communities": "country"}
    asked = [
        requirement(name="few"),
        requirement(name="unstated", **countries),
        requirement(name="stated", measure="tests", **countries),
    ]
    (caution,) = forecast(resolve(scenario(["simulated/fair"], asked, templates=1000))).cautions
    assert caution.startswith("state `measure: tests` or `measure: replies` for unstated: ")


def test_a_gate_refuses_what_it_could_never_pass_unless_agreed(planned):
    short = planned({"sector": "housing"}).power
    with pytest.raises(UserError) as refused:
        refuse_undecidable(short, yes=False)
    assert "--gate decided: 1 requirement can never be met: name a `library`" in str(refused.value)
    refuse_undecidable(short, yes=True)
    refuse_undecidable(planned().power, yes=False)
