from collections.abc import Callable
from typing import Any

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.scenario.scenario import ResolvedScenario, resolve
from biasgrid.flows.benchmark.forecast import forecast
from biasgrid.flows.forecast.confirmation import announce, confirmation_question
from biasgrid.flows.forecast.totals import Forecast
from biasgrid.flows.forecast.view import binding_caps
from biasgrid.flows.runs.prepare import cap_problems

Planned = Callable[..., tuple[ResolvedScenario, Forecast]]


@pytest.fixture
def planned(scenario: Any) -> Planned:
    def plan(*models: str, **settings: Any) -> tuple[ResolvedScenario, Forecast]:
        resolved = resolve(scenario(list(models), **settings))
        return resolved, forecast(resolved)

    return plan


def wrong(resolved: ResolvedScenario) -> list[str]:
    return [str(mistake) for mistake in cap_problems(resolved.targets.values(), resolved.settings)]


def test_a_cap_on_money_needs_every_price(planned):
    problems = wrong(planned("openai/gpt-4o", "vllm/mine", max_cost=1)[0])
    assert len(problems) == 1
    assert "`vllm/mine`" in problems[0]
    assert "gpt-4o" not in problems[0]
    assert wrong(planned("openai/gpt-4o", "simulated/fair", max_cost=1)[0]) == []
    assert wrong(planned("vllm/mine", max_requests=1)[0]) == []


def test_an_age_needs_the_replies_of_other_runs(planned):
    assert "--reuse all" in wrong(planned("simulated/fair", max_age="7d")[0])[0]
    assert wrong(planned("simulated/fair", max_age="7d", reuse="all")[0]) == []


def test_caps_below_the_forecast_are_reported(planned, capsys):
    resolved, expected = planned("openai/gpt-4o", max_cost=1e-4, max_requests=3)
    announce(expected, resolved)
    printed = capsys.readouterr()
    lines = printed.err.splitlines()
    assert printed.out == ""
    assert lines[0].startswith(f"openai/gpt-4o: {expected.requests} prompts, about $")
    power, *caps, lacking = lines[1:]
    assert power.startswith("note: 1 can never be met: raise `templates`")
    assert [line.split("`")[1] for line in caps] == ["max_cost", "max_requests"]
    assert "the 11 requests" not in caps[0]
    assert lacking.startswith("note: openai/gpt-4o will lack ")


def test_caps_above_the_forecast_are_not(planned):
    resolved, expected = planned("openai/gpt-4o", max_cost=100, max_requests=10_000)
    assert list(binding_caps(expected, resolved.settings)) == []


def test_money_above_the_threshold_is_a_question(planned, monkeypatch):
    resolved, expected = planned("openai/gpt-4o")
    settings = resolved.settings
    assert confirmation_question(expected, settings) is None
    monkeypatch.setenv("BIASGRID_CONFIRM_USD", "0")
    assert "expected to cost" in (confirmation_question(expected, settings) or "")
    monkeypatch.setenv("BIASGRID_CONFIRM_USD", "much")
    with pytest.raises(UserError, match="BIASGRID_CONFIRM_USD"):
        confirmation_question(expected, settings)


def test_a_cap_below_the_threshold_answers_the_question(planned, monkeypatch):
    monkeypatch.setenv("BIASGRID_CONFIRM_USD", "0.0002")
    resolved, expected = planned("openai/gpt-4o")
    assert confirmation_question(expected, resolved.settings)
    capped, same = planned("openai/gpt-4o", max_cost=1e-4)
    assert confirmation_question(same, capped.scenario.scenario) is None


def test_many_requests_of_unknown_price_are_a_question(planned):
    resolved, expected = planned("vllm/mine", samples=1000)
    assert "price is unknown" in (confirmation_question(expected, resolved.settings) or "")
    few, same = planned("vllm/mine", samples=1000, max_requests=10)
    assert confirmation_question(same, few.scenario.scenario) is None
    free, local = planned("simulated/fair", samples=1000)
    assert confirmation_question(local, free.scenario.scenario) is None


def test_what_earlier_runs_may_answer_makes_it_a_most(planned, capsys, monkeypatch):
    monkeypatch.setenv("BIASGRID_CONFIRM_USD", "0")
    resolved, expected = planned("openai/gpt-4o", max_cost=1e-4, max_requests=3, reuse="all")
    settings = resolved.settings
    announce(expected, resolved, at_most=True)
    printed = capsys.readouterr().err
    assert "stop short" not in printed
    assert "at most: replies of earlier runs" in printed
    assert "cost at most $" in (confirmation_question(expected, settings, at_most=True) or "")
