"""One alarm a night: each cause once, and that it is over once."""

from typing import Any

import pytest

from biasgrid.flows.scheduled.alarms import Alarm, Night, decide_alarm
from biasgrid.flows.scheduled.causes import Cause, causes_over, gap_cause, other_cause, worse_cause
from biasgrid.flows.scheduled.gaps import Gap

NIGHT = Night("drill", "R1", ["a/x", "a/y"], ["biasgrid compare R0 R1", "biasgrid resume R1"])


def change(finding: str = "worse", rate: float = 0.6, earlier: float = 0.9, requirement: str = "alike") -> Any:
    tested = {"low": -0.4, "high": -0.2, "q_value": 0.001}
    return {"requirement": requirement, "model": "a/x", "finding": finding, "rate": rate} | {
        "earlier_rate": earlier,
        **tested,
    }


AWAY = gap_cause(Gap("a/y", "away", 62, 62, None, "down"), None)
WORSE = worse_cause(change(), None)
BROKEN = other_cause("broken", "UserError: no such file", None)


class Nights:
    """The alarms of nights one after the other."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, Any]] = {}

    def end(self, *causes: Cause, changes: Any = (), complete: Any = ()) -> Alarm | None:
        over = causes_over(self.known, causes, changes, complete)
        alarm, self.known = decide_alarm(NIGHT, causes, over, self.known)
        return alarm


def test_an_alarm_names_scenario_models_causes_effect_and_commands():
    alarm = Nights().end(AWAY, WORSE)
    assert alarm is not None
    assert (alarm.severity, alarm.subject) == ("worse", "biasgrid worse: drill: alike of a/x")
    assert alarm.body.splitlines() == [
        "scenario drill, run R1, models: a/x, a/y",
        "",
        "worse",
        "- alike of a/x passes 60.0%, 90.0% before: −30.0 points (95%: −40.0 to −20.0), q = 0.001; since –",
        "",
        "incomplete",
        "- a/y: away × 62 of 62 (down)",
        "",
        "biasgrid compare R0 R1",
        "biasgrid resume R1",
    ]


@pytest.mark.parametrize("cause", [AWAY, WORSE, BROKEN])
def test_a_cause_that_lasts_is_reported_once(cause):
    nights = Nights()
    assert nights.end(cause) is not None
    assert nights.end(cause) is None


def test_a_new_cause_is_reported_with_those_that_last():
    nights = Nights()
    nights.end(AWAY)
    alarm = nights.end(AWAY, WORSE)
    assert alarm is not None
    assert alarm.subject == "biasgrid worse: drill: alike of a/x"
    assert "as reported before\n- a/y away × 62 since" in alarm.body


@pytest.mark.parametrize("cause", [AWAY, BROKEN])
def test_what_is_over_is_reported_once(cause):
    nights = Nights()
    nights.end(cause)
    other_models = nights.end(complete=[("alike", "a/other")])
    alarm = nights.end(complete=[("alike", "a/y")]) if cause.model else other_models
    assert other_models is None or not cause.model
    assert alarm is not None
    assert (alarm.severity, alarm.subject) == ("better", f"biasgrid better again: drill: {cause.about}")
    assert nights.end() is None
    assert nights.end(cause) is not None


@pytest.mark.parametrize(
    ("later", "is_over"),
    [
        (change("no difference shown", 0.6, 0.6), False),
        (change("better", 0.8, 0.6), True),
        (change("no difference shown", 0.91, 0.88), True),
    ],
)
def test_a_regression_lasts_until_the_rate_is_back(later, is_over):
    nights = Nights()
    nights.end(WORSE)
    assert nights.end() is None  # an incomplete night shows nothing
    alarm = nights.end(changes=[later])
    assert (alarm is not None) == is_over
    if alarm:
        assert alarm.subject.startswith("biasgrid better again: drill: alike of a/x: passes")


def test_a_rate_that_falls_further_is_another_cause():
    nights = Nights()
    nights.end(WORSE)
    assert nights.end(worse_cause(change(rate=0.58, earlier=0.75), None)) is None
    assert nights.end(worse_cause(change(rate=0.3, earlier=0.6), None)) is not None
