"""Intervals of impact ratios against published and independently computed ones."""

from math import log

import pytest

from biasgrid.tasks.report.evidence.impact_ratios import (
    exact_interval,
    odds_interval,
    ratio_interval,
    score_interval,
    with_intervals,
)


def _deviance_of_pearson(rate: tuple[int, int], best: tuple[int, int], ratio: float) -> float:
    """Koopman's χ² at the rates that maximise the likelihood under the ratio, found by a search."""
    (x, n), (y, m) = rate, best
    low, high = 1e-12, min(1.0, 1 / ratio) - 1e-12

    def slope(second: float) -> float:
        first = ratio * second
        return (x - n * first) / (first * (1 - first)) * ratio + (y - m * second) / (second * (1 - second))

    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    first, second = ratio * low, low
    return (x - n * first) ** 2 / (n * first * (1 - first)) + (y - m * second) ** 2 / (m * second * (1 - second))


def test_koopmans_own_example():
    """36 of 40 and 16 of 80: 2.94 to 7.15 (Koopman 1984), by the score method though a cell has but 4."""
    assert score_interval((36, 40), (16, 80)) == pytest.approx((2.94, 7.15), abs=0.005)


@pytest.mark.parametrize(
    ("rate", "best"), [((20, 100), (40, 100)), ((5, 50), (17, 23)), ((300, 900), (31, 77)), ((10, 20), (10, 20))]
)
def test_a_limit_is_where_the_score_statistic_is_critical(rate, best):
    low, high = ratio_interval(rate, best)
    assert low < (rate[0] / rate[1]) / (best[0] / best[1]) < high
    for limit in (low, high):
        assert _deviance_of_pearson(rate, best, limit) == pytest.approx(3.841459, abs=1e-5)


def test_swapped_rates_have_the_inverse_interval():
    low, high = ratio_interval((20, 100), (40, 90))
    assert [*map(log, ratio_interval((40, 90), (20, 100)))] == pytest.approx([-log(high), -log(low)])


@pytest.mark.parametrize(
    ("chosen", "of", "low", "high"),
    [  # scipy.stats.binomtest(chosen, of).proportion_ci(), 1.17.1
        (7, 34, 0.0870213055, 0.3789777485),
        (3, 10, 0.0667395112, 0.6524528501),
        (1, 20, 0.0012650895, 0.2487327628),
    ],
)
def test_exact_limits_are_those_of_clopper_and_pearson(chosen, of, low, high):
    assert exact_interval(chosen, of) == pytest.approx((low, high), abs=1e-9)


def test_of_few_the_limits_are_exact_and_wider():
    low, high = ratio_interval((0, 30), (10, 30))
    assert low == 0
    assert high == pytest.approx(exact_interval(0, 30, 0.025)[1] / exact_interval(10, 30, 0.025)[0])


def test_where_one_of_two_is_chosen_the_ratio_is_the_odds_of_a_share():
    """Wilson's limits of 5 of 20 by scipy 1.17.1: 0.1118617 and 0.4687009; exact ones of 1 of 20: see above."""
    low, high = 0.11186170140766571, 0.468700877618744
    assert odds_interval(5, 15) == pytest.approx((low / (1 - low), high / (1 - high)))
    assert odds_interval(1, 19)[1] == pytest.approx(0.24873276277202772 / (1 - 0.24873276277202772))
    assert odds_interval(0, 20)[0] == 0


def test_a_ratio_has_its_interval_unless_it_is_that_of_the_greatest_rate():
    key = {"rate_of": "selection", "model": "m", "language": "en_us", "what": "p"}
    rows = [
        key | {"category": "men", "people": 40, "chosen": 15, "impact_ratio": 1.0},
        key | {"category": "women", "people": 20, "chosen": 5, "impact_ratio": 2 / 3},
        key | {"category": "rare", "people": 1, "chosen": 0, "impact_ratio": None},
    ]
    men, women, rare = with_intervals(rows)
    assert men["impact_ratio_low"] is rare["impact_ratio_low"] is None
    # twice as many men as women stand for one of them
    assert women["impact_ratio_low"] == pytest.approx(2 * odds_interval(5, 15)[0])
    assert women["impact_ratio_low"] < women["impact_ratio"] < women["impact_ratio_high"]
