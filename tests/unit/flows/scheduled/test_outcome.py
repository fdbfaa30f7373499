"""How a night ends: what is wrong with it, by name, first."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from biasgrid.flows.benchmark.outcome import Outcome
from biasgrid.flows.benchmark.previous_runs import EarlierRuns
from biasgrid.flows.scheduled.confirmation import Confirmed
from biasgrid.flows.scheduled.dispatch import Lost
from biasgrid.flows.scheduled.gaps import Gap
from biasgrid.flows.scheduled.outcome import Ended, causes_of, final_state
from biasgrid.flows.scheduled.shards import Shard

SINCE = datetime(2026, 3, 1, 2, 13, tzinfo=UTC)
RESUME = "biasgrid resume R1 --data /lake"


def outcome_of(*, incomplete: bool = False, finding: str = "met", decision: str = "met") -> Outcome:
    row = {"model": "a/x", "requirement": "alike", "point_finding": finding, "decision": decision}
    rates = {"rate": 0.6, "tolerance": 0.9, "interval_low": 0.5, "interval_high": 0.7}
    findings = [{**row, **rates, "is_complete": not incomplete}]
    return Outcome(run_id="R1", findings=findings, incomplete=incomplete, failures=[], places={"lake": Path()})


def change(finding: str, requirement: str = "alike") -> dict[str, Any]:
    rates = {"rate": 0.75, "earlier_rate": 0.9, "q_value": 0.0012, "low": -0.22, "high": -0.08}
    return {"model": "a/x", "requirement": requirement, "finding": finding, "earlier_run_id": "R0", **rates}


def ended(*changed: dict[str, Any], found: Outcome | None = None, **more: Any) -> Ended:
    confirmed = Confirmed(EarlierRuns([*changed], []), more.pop("notes", {}))
    return Ended(found or outcome_of(), confirmed, started_at=SINCE, resume=RESUME, **more)


LOST = [Lost(Shard(("a/x",), 10), "Crashed: no heartbeat", "Crashed")]
GAP = Gap("a/x", "away", 62, 62, SINCE, "`a/x`: the connection broke")


def test_a_night_like_the_one_before_is_completed():
    state = final_state(ended(change("no difference shown"), change("better")))
    assert (state.is_completed(), state.message) == (
        True,
        "run R1: 1 of 1 requirements met, none worse than the night before, 1 better",
    )


def test_a_first_night_states_that_there_is_nothing_to_compare_with():
    state = final_state(ended())
    assert state.is_completed()
    assert "no earlier night" in str(state.message)


def test_a_regression_names_requirement_model_both_rates_and_the_interval_of_their_difference():
    night = ended(change("worse"), change("better", "other"), notes={("alike", "a/x"): "asked again, it is worse"})
    state = final_state(night)
    effect = "passes 75.0%, 90.0% before: −15.0 points (95%: −22.0 to −8.0), q = 0.0012"
    assert (state.is_failed(), state.name) == (True, "Regression")
    assert state.message == f"run R1: worse than the night before: `alike` of a/x {effect}"
    (cause,) = causes_of(night)
    assert (cause.severity, cause.about) == ("worse", "alike of a/x")
    assert cause.line == f"alike of a/x {effect}; asked again, it is worse; since 2026-03-01 02:13 UTC"


def test_what_was_not_worse_again_completes_the_night_and_is_named():
    state = final_state(ended(change("not confirmed")))
    assert state.is_completed()
    assert "not confirmed when asked again: `alike` of a/x passes 75.0%" in str(state.message)
    assert causes_of(ended(change("not confirmed"))) == []


def test_of_many_regressions_the_first_are_named():
    message = final_state(ended(*(change("worse", f"r{number}") for number in range(5)))).message
    assert "`r2` of a/x" in str(message)
    assert "`r3`" not in str(message)
    assert str(message).endswith("and 2 more")


@pytest.mark.parametrize(
    ("incomplete", "more", "name", "message"),
    [
        (True, {}, "Incomplete", "coverage"),
        (False, {"lost": LOST}, "Incomplete", "a/x (Crashed: no heartbeat)"),
        (True, {"over_cost": True}, "OverCost", "cap"),
        (
            True,
            {"gaps": [GAP]},
            "Incomplete",
            "a/x: away × 62 of 62 since 2026-03-01 02:13 UTC (the connection broke); resume with: " + RESUME,
        ),
    ],
)
def test_a_night_that_did_not_ask_everything_gives_the_reason(incomplete, more, name, message):
    night = ended(found=outcome_of(incomplete=incomplete), **more)
    state = final_state(night)
    assert (state.is_failed(), state.name) == (True, name)
    assert message in str(state.message)
    assert [cause.severity for cause in causes_of(night)] == ["incomplete"]


def test_few_failures_of_a_model_that_has_enough_replies_are_no_alarm():
    night = ended(gaps=[GAP])
    assert final_state(night).is_completed()
    assert causes_of(night) == []


@pytest.mark.parametrize(
    ("gate", "finding", "decision", "name"),
    [
        ("regression", "not met", "not met", "Completed"),
        ("point", "not met", "undecided", "NotMet"),
        ("point", "met", "undecided", "Completed"),
        ("decided", "met", "undecided", "Undecided"),
        ("decided", "met", "not met", "NotMet"),
    ],
)
def test_the_gate_decides_what_else_fails_a_night(gate, finding, decision, name):
    night = ended(found=outcome_of(finding=finding, decision=decision), gate=gate)
    state = final_state(night)
    assert state.name == name
    if name != "Completed":
        assert "`alike` of a/x" in str(state.message)
        assert "50.0% to 70.0%" in causes_of(night)[0].line
