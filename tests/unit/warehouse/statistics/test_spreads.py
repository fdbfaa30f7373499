import math
from random import Random
from statistics import NormalDist, fmean, variance

import pytest

from support.studentised_range import quantile

PHI = NormalDist()


def naive_cdf(q: float, groups: int, degrees: float) -> float:
    """P(range/s ≤ q), s estimated with so many degrees of freedom: both integrals by plain sums."""

    def of_known_deviation(width: float) -> float:
        step, points = 0.05, [-8 + 0.05 * i for i in range(340)]
        return groups * step * sum(PHI.pdf(z) * (PHI.cdf(z) - PHI.cdf(z - width)) ** (groups - 1) for z in points)

    step, total = 0.02, 0.0
    for s in (step * (i + 0.5) for i in range(200)):
        log_density = math.log(2) + degrees / 2 * math.log(degrees / 2) - math.lgamma(degrees / 2)
        log_density += (degrees - 1) * math.log(s) - degrees * s * s / 2
        if log_density > -25:
            total += step * math.exp(log_density) * of_known_deviation(q * s)
    return total


@pytest.mark.parametrize(("groups", "degrees"), [(2, 6), (5, 11), (42, 84)])
def test_quantiles_of_the_studentised_range_by_numerical_integration(call, groups, degrees):
    found = call("studentised_range_quantile(?, ?)", groups, degrees)
    assert naive_cdf(found, groups, degrees) == pytest.approx(0.95, abs=2e-4)


@pytest.mark.parametrize(
    ("groups", "degrees", "printed"),
    [(2, 1, 17.97), (3, 5, 4.60), (10, 10, 5.60), (20, 120, 5.13), (100, 1e9, 6.085)],
)
def test_they_are_those_that_are_printed_in_tables(call, groups, degrees, printed):
    assert call("studentised_range_quantile(?, ?)", groups, degrees) == pytest.approx(printed, abs=6e-3)


def test_the_table_is_what_its_program_writes(macros):
    sql = "select groups, degrees, quantile from statistics.studentised_range where groups in (2, 13, 60)"
    for groups, degrees, stored in macros.execute(sql).fetchall()[::7]:
        known = None if math.isinf(degrees) else int(degrees)
        assert stored == pytest.approx(quantile(int(groups), known), abs=6e-5)


@pytest.mark.parametrize(("groups", "degrees"), [(23, 11), (34, 50), (70, 25), (170, 1000), (1500, 40)])
def test_between_the_lines_of_the_table_three_digits_hold(call, groups, degrees):
    found = call("studentised_range_quantile(?, ?)", groups, degrees)
    assert found == pytest.approx(quantile(groups, degrees), rel=1e-3)


def test_chance_alone_takes_equal_means_beyond_it_once_in_twenty(macros):
    random, beyond, trials = Random(3), 0, 600
    critical = macros.execute("select statistics.studentised_range_quantile(6, 18)").fetchone()[0]
    for _ in range(trials):
        groups = [[random.gauss(50, 5) for _ in range(4)] for _ in range(6)]
        means = [fmean(group) for group in groups]
        error = math.sqrt(fmean(variance(group) for group in groups) / 4)
        beyond += max(means) - min(means) > critical * error
    assert 0.03 < beyond / trials < 0.07


def test_the_error_of_means_pools_what_varies_within(over):
    groups = [[50.0, 52, 54], [49.0, 51], [60.0]]
    rows = [(len(group), variance(group) if len(group) > 1 else None) for group in groups]
    pooled = (2 * variance(groups[0]) + variance(groups[1])) / (6 - 3)
    harmonic = fmean(1 / len(group) for group in groups)
    assert over("error_of_means(a, b)", rows) == pytest.approx(math.sqrt(pooled * harmonic))
    assert over("error_degrees(a)", rows) == 3
    assert over("error_of_means(a, b)", [(1, None), (1, None)]) is None
