"""How a red team ends: nothing counts as withstood of which nobody could tell."""

from __future__ import annotations

import pytest

from flows.attack_outcome import AttackOutcome
from flows.outcome import INCOMPLETE, MET, NOT_MET


def outcome(*rates: float | None, incomplete: bool = False) -> AttackOutcome:
    rows = [{"success_rate": rate, "succeeded": int(rate or 0)} for rate in rates]
    return AttackOutcome("run", rows, [], incomplete, [], {})


@pytest.mark.parametrize(
    ("rates", "code"),
    [((0.0, 0.0), MET), ((0.0, 1.0), NOT_MET), ((0.0, None), NOT_MET), ((None,), NOT_MET)],
)
def test_a_strategy_without_a_rate_is_not_withstood(rates: tuple[float | None, ...], code: int) -> None:
    assert outcome(*rates).exit_code == code


def test_what_is_incomplete_says_so_first() -> None:
    assert outcome(1.0, None, incomplete=True).exit_code == INCOMPLETE
