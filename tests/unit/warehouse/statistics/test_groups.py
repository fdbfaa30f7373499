"""One test over three or more groups, and those of two groups after it."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import duckdb
import pytest

Blocks = Sequence[Sequence[float]]
TEST = """
    with rows_of_a_test as (
        select
            1 as test,
            unnest(?::bigint[]) as block,
            unnest(?::varchar[]) as group_id,
            unnest(?::double[]) as value
    )
    select q_statistic, epsilon, p_value
    from statistics.group_tests('rows_of_a_test', {'test': test})
"""


@pytest.fixture
def tested(macros: duckdb.DuckDBPyConnection) -> Callable[[Blocks], Any]:
    """Q, ε and p of blocks with a value per group."""

    def test(blocks: Blocks) -> Any:
        rows = [
            (number, f"g{place}", value) for number, own in enumerate(blocks) for place, value in enumerate(own)
        ]
        return macros.execute(TEST, [list(column) for column in zip(*rows, strict=True)]).fetchone()

    return test


# scipy.stats.chi2.sf
@pytest.mark.parametrize(
    ("x", "df", "expected"),
    [
        *((0, 2, 1.0), (5.991464547107979, 2, 0.05), (0.5, 1.37, 0.6131098830)),
        *((1e-6, 0.3, 0.8783968636), (30, 2.6, 0.0000007828), (80, 40, 0.0001763029)),
    ],
)
def test_the_tail_of_chi_squared_is_known_for_any_degrees_of_freedom(call, x, df, expected):
    assert call("chi2_p_value(?, ?)", x, df) == pytest.approx(expected, abs=1e-9)


def test_q_is_cochrans_and_its_degrees_of_freedom_are_lessened_by_epsilon(tested):
    # by their definitions in numpy, and scipy.stats.chi2.sf
    fallen = [*[(1, 1, 0)] * 6, *[(1, 0, 0)] * 5, *[(0, 1, 0)] * 2]
    blocks = [*fallen, *[(1, 1, 1)] * 4, (0, 0, 1), (0, 0, 0)]
    assert tested(blocks) == pytest.approx((11.2857142857, 0.9991999314, 0.0035517623), abs=1e-9)


def test_what_is_the_same_in_every_block_has_the_chance_that_all_follow_the_first(tested):
    assert tested([(1, 1, 0)] * 8) == pytest.approx((16.0, None, 0.5**7))


def test_fewer_than_six_blocks_in_which_groups_differ_are_not_tested(tested):
    assert tested([(1, 0, 0)] * 5 + [(1, 1, 1)] * 20)[2] is None
    assert tested([(1, 1, 1)] * 20)[2] is None


def test_holm_multiplies_the_smallest_p_by_the_number_of_tests_and_never_turns_the_order(macros):
    rows = macros.execute("""
        with tests as (select unnest([0.01, 0.04, 0.03, null, 0.5]::double[]) as p, 1 as test)
        select p, p_adjusted from statistics.with_holm_values('tests', p, test) order by p
    """).fetchall()
    expected = ((0.01, 0.04), (0.03, 0.09), (0.04, 0.09), (0.5, 0.5), (None, None))
    assert rows == [(p, None if q is None else pytest.approx(q)) for p, q in expected]


def share_found(tested: Callable[[Blocks], Any], chances: Sequence[float], blocks: int, together: bool) -> float:
    """Share of 300 tests that find a difference between groups that get something with these chances; `together`:
    two of the three always get the same, the last one the contrary."""
    draw, found = Random(7), 0
    for _ in range(300):
        own = [[float(draw.random() < chance) for chance in chances] for _ in range(blocks)]
        p_value = tested([(one, one, 1 - one) for one, *_ in own] if together else own)[2]
        found += p_value is not None and p_value <= 0.05
    return found / 300


@pytest.mark.drill
@pytest.mark.parametrize("together", [False, True], ids=["each for itself", "two of three together"])
def test_equal_groups_are_found_different_in_one_of_twenty_at_most(tested, together):
    assert share_found(tested, (0.5, 0.5, 0.5), 20, together) <= 0.05 + 2 * (0.05 * 0.95 / 300) ** 0.5


@pytest.mark.drill
def test_a_gap_of_one_group_of_three_is_found(tested):
    assert share_found(tested, (0.35, 0.35, 0.85), 40, together=False) >= 0.95
