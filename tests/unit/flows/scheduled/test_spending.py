"""Cost and duration over nights: what is usual, and what is alarmed about."""

from datetime import UTC, datetime

import pytest

from biasgrid.flows.scheduled.causes import causes_over
from biasgrid.flows.scheduled.spending import LEAST_USD, Series, spending_causes

SINCE = datetime(2026, 3, 1, 2, 13, tzinfo=UTC)


def cost(*values: float | None) -> Series:
    return Series("cost", values, LEAST_USD, lambda usd: f"${usd:,.2f}")


def test_a_night_beyond_the_bound_is_a_cause_that_names_both_values():
    (cause,) = spending_causes([cost(1.0, 1.2, 0.9, 2.5)], 2.0, SINCE)
    assert (cause.severity, cause.about) == ("costly", "cost $2.50, usually $1.00")
    assert cause.line == "cost $2.50, usually $1.00: more than 2 × the median of 3 nights of the same scenario"


@pytest.mark.parametrize(
    "values",
    [
        pytest.param((1.0, 1.2, 0.9, 2.0), id="at the bound"),
        pytest.param((1.0, 1.0, 9.0), id="too few nights to know what is usual"),
        pytest.param((0.001, 0.001, 0.001, 0.01), id="a difference of cents"),
        pytest.param((1.0, None, 1.0, 9.0), id="too few of known price"),
        pytest.param((1.0, 1.0, 1.0, None), id="a price that is not known"),
    ],
)
def test_nothing_else_is_a_cause(values):
    assert [*spending_causes([cost(*values)], 2.0, SINCE)] == []


def test_one_dear_night_does_not_change_what_is_usual():
    assert cost(1.0, 1.0, 50.0, 1.0, 1.1).usual == 1.0


def test_without_a_bound_nothing_alarms():
    assert [*spending_causes([cost(1.0, 1.0, 1.0, 99.0)], 0.0, SINCE)] == []


def test_it_is_one_cause_from_night_to_night_until_it_is_usual_again():
    (first,) = spending_causes([cost(1.0, 1.0, 1.0, 3.0)], 2.0, SINCE)
    (second,) = spending_causes([cost(1.0, 1.0, 1.0, 3.0, 3.4)], 2.0, SINCE)
    assert first.key == second.key
    known = {first.key: first.as_record()}
    assert causes_over(known, [second], [], []) == []
    assert [record["key"] for record in causes_over(known, [], [], [])] == [first.key]


def test_the_row_shows_the_nights_what_is_usual_and_this_one():
    assert cost(1.0, None, 1.0, 1.0, 4.0).row == ("cost", "▃·▃▃█", "$1.00", "$4.00")
