"""How a night ends: what is wrong with it, by name, first."""

from pathlib import Path
from typing import Any

import pytest

from biasgrid.flows.benchmark.outcome import Outcome
from biasgrid.flows.benchmark.previous_runs import EarlierRuns
from biasgrid.flows.scheduled.dispatch import Lost
from biasgrid.flows.scheduled.flow import final_state
from biasgrid.flows.scheduled.shards import Shard


def outcome_of(*, incomplete: bool = False, finding: str = "met", decision: str = "met") -> Outcome:
    row = {"model": "a/x", "requirement": "alike", "point_finding": finding, "decision": decision}
    return Outcome("R1", [row], incomplete, [], {"lake": Path()})


def change(finding: str, requirement: str = "alike") -> dict[str, Any]:
    rates = {"rate": 0.75, "earlier_rate": 0.9, "q_value": 0.0012}
    return {"model": "a/x", "requirement": requirement, "finding": finding, **rates}


def before(*changed: dict[str, Any]) -> EarlierRuns:
    return EarlierRuns([*changed], [])


LOST = [Lost(Shard(("a/x",), 10), "Crashed: no heartbeat")]


def test_a_night_like_the_one_before_is_completed():
    state = final_state(
        outcome_of(), before(change("no difference shown"), change("better")), [], "regression", over_cost=False
    )
    assert (state.is_completed(), state.message) == (
        True,
        "run R1: 1 of 1 requirements met, none worse than the night before, 1 better",
    )


def test_a_first_night_states_that_there_is_nothing_to_compare_with():
    state = final_state(outcome_of(), before(), [], "regression", over_cost=False)
    assert state.is_completed()
    assert "no earlier night" in str(state.message)


def test_a_regression_names_requirement_model_and_both_rates():
    state = final_state(
        outcome_of(), before(change("worse"), change("better", "other")), [], "regression", over_cost=False
    )
    assert (state.is_failed(), state.name) == (True, "Regression")
    assert state.message == (
        "run R1: worse than the night before: `alike` of a/x passes 75.0%, 90.0% before (q = 0.0012)"
    )


def test_of_many_regressions_the_first_are_named():
    several = before(*(change("worse", f"r{number}") for number in range(5)))
    message = final_state(outcome_of(), several, [], "regression", over_cost=False).message
    assert "`r2` of a/x" in str(message)
    assert "`r3`" not in str(message)
    assert str(message).endswith("and 2 more")


@pytest.mark.parametrize(
    ("incomplete", "lost", "over_cost", "name", "message"),
    [
        (True, [], False, "Incomplete", "coverage"),
        (False, LOST, False, "Incomplete", "a/x (Crashed: no heartbeat)"),
        (True, [], True, "OverCost", "cap"),
    ],
)
def test_a_night_that_did_not_ask_everything_gives_the_reason(incomplete, lost, over_cost, name, message):
    state = final_state(outcome_of(incomplete=incomplete), before(), lost, "regression", over_cost=over_cost)
    assert (state.is_failed(), state.name) == (True, name)
    assert message in str(state.message)


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
    state = final_state(outcome_of(finding=finding, decision=decision), before(), [], gate, over_cost=False)
    assert state.name == name
    if name != "Completed":
        assert "`alike` of a/x" in str(state.message)
