"""The outcome of a red team: an attack that could not be judged does not count as withstood."""

import pytest

from biasgrid.flows.redteam.outcome import COUNTED, AttackOutcome
from biasgrid.flows.redteam.sections import sections
from biasgrid.flows.runs.outcome import INCOMPLETE, MET, NOT_MET, UNDECIDED
from biasgrid.flows.terminal.tables import show_sections


def outcome(*rates: float | None, incomplete: bool = False) -> AttackOutcome:
    return outcome_by(*((STATES[rate], None) for rate in rates), incomplete=incomplete)


STATES = {None: "not evaluated", 0.0: "undecided", 1.0: "not met"}
"""By success rate, where no bound is stated."""


def outcome_by(*rows: tuple[str, float | None], incomplete: bool = False) -> AttackOutcome:
    """Of strategies by state and bound."""
    rates = [{"state": state, "bound": bound} for state, bound in rows]
    return AttackOutcome("run", rates, [], incomplete, [], {}, [])


@pytest.mark.parametrize(
    ("rates", "code"),
    [((0.0, 0.0), MET), ((0.0, 1.0), NOT_MET), ((0.0, None), NOT_MET), ((None,), NOT_MET)],
)
def test_a_strategy_without_a_rate_is_not_withstood(rates, code):
    assert outcome(*rates).exit_code == code


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (["met", "met"], MET),
        (["met", "undecided"], UNDECIDED),
        (["undecided", "not met"], NOT_MET),
        (["undecided", "not evaluated"], NOT_MET),
    ],
)
def test_a_stated_bound_is_met_only_where_it_is_proven(states, code):
    assert outcome_by(*((state, 0.1) for state in states)).exit_code == code


def test_an_incomplete_outcome_starts_with_that():
    assert outcome(1.0, None, incomplete=True).exit_code == INCOMPLETE


def print_outcome(found: AttackOutcome, capsys: pytest.CaptureFixture[str]) -> str:
    show_sections(sections(found))
    return " ".join(capsys.readouterr().out.split())


def test_what_another_attempt_would_not_mend_is_not_to_be_resumed(capsys):
    found = AttackOutcome("01RUN", [], [], True, [], {}, [("too_far", 2)])
    assert "2 × attacker failed: too_far" in print_outcome(found, capsys)
    assert "resume" not in print_outcome(found, capsys)


def test_what_a_cap_left_open_is_resumed_with_a_higher_one(capsys):
    rates = dict.fromkeys(COUNTED, 0) | {"open": 3, "model": "m", "language": "en_us", "strategy": "direct"}
    rates |= {"sessions": 3, "success_rate": None, "low": None, "high": None, "mean_succeeded_at": None}
    rates |= {"bound": None, "state": "not evaluated"}
    out = print_outcome(AttackOutcome("01RUN", [rates], [], True, [], {}, []), capsys)
    assert "left open: 3" in out
    assert "--max-requests" in out
    assert "biasgrid resume 01RUN" in out
