import math
from random import Random
from statistics import NormalDist, fmean, variance

import pytest

from support.studentised_range import quantile


@pytest.mark.parametrize(("b", "c"), [(9, 2), (86, 150), (1, 0), (3, 3), (40, 0)])
def test_mcnemar_counts_every_way_the_pairs_could_have_fallen(call, naive, b, c):
    exact = min(1, 2 * naive.binomial_cdf(min(b, c), b + c, 0.5))
    assert call("mcnemar_p_value(?, ?)", b, c) == pytest.approx(exact, rel=1e-9)
    assert call("mcnemar_p_value(?, ?)", c, b) == pytest.approx(exact, rel=1e-9)


def test_pairs_that_never_differ_show_no_difference(call):
    assert call("mcnemar_p_value(0, 0)") == 1
    assert call("mcnemar_p_value(null, 2)") is None


@pytest.mark.parametrize("seed", range(8))
def test_paired_differences_are_clustered_by_template(over, naive, seed):
    random = Random(seed)
    prompts = [random.randint(1, 6) for _ in range(random.randint(2, 30))]
    sums = [(sum(random.choice((-1.0, -0.5, 0, 0, 0.5, 1)) for _ in range(n)), n) for n in prompts]
    mean = sum(s for s, _ in sums) / sum(prompts)
    se = naive.row_rate_se(sums)
    p = 2 * (1 - naive.t_cdf(abs(mean / se), len(sums) - 1))
    found = over("paired_p_value(statistics.row_rate(a, b), statistics.row_rate_se(a, b), count(*))", sums)
    assert found == pytest.approx(p, abs=1e-8)


@pytest.mark.parametrize(
    ("difference", "se", "templates", "p"),
    [(0.2, 0.1, 1, None), (0.2, None, 1, None), (0.0, 0.0, 9, 1), (0.2, 0.0, 4, 1 / 8), (0.0, 0.1, 9, 1)],
)
def test_differences_that_do_not_vary(call, difference, se, templates, p):
    found = call("paired_p_value(?, ?::double, ?)", difference, se, templates)
    assert found == (None if p is None else pytest.approx(p))


@pytest.mark.parametrize("seed", range(10))
def test_false_discoveries_are_adjusted_by_the_definition(adjusted, naive, seed):
    random = Random(seed)
    p_values = [random.choice((random.random() ** 4, 0.04, 1.0)) for _ in range(random.randint(1, 60))]
    assert adjusted(p_values) == pytest.approx(naive.benjamini_hochberg(p_values))


def test_what_was_not_tested_is_no_test(adjusted):
    assert adjusted([None, 0.04, 0.01, None]) == [None, pytest.approx(0.04), pytest.approx(0.02), None]
    assert adjusted([None]) == [None]
    assert adjusted([]) == []


def test_each_comparison_is_adjusted_by_itself(macros):
    sql = """
        with tests (run, p) as (from (values ('b', 0.04::double), ('a', 0.04), ('a', 0.01), ('b', null::double))),
        stepped as (select *, statistics.benjamini_hochberg_step(p, run) as step from tests)
        select run, p, statistics.benjamini_hochberg(step, p, run) from stepped order by run, p
    """
    half, whole = pytest.approx(0.02), pytest.approx(0.04)
    assert macros.execute(sql).fetchall() == [
        ("a", 0.01, half),
        ("a", 0.04, whole),
        ("b", 0.04, whole),
        ("b", None, None),
    ]


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


@pytest.mark.parametrize(
    ("difference", "q", "change"),
    [
        (-0.05, 0.05, "worse"),  # both bounds are met
        (0.95 - 1 + 3e-10, 0.05, "worse"),  # short of the least drop by rounding
        (0.06, 0.0, "better"),
        (-0.0499, 0.0, "no difference shown"),
        (-0.5, 0.0501, "no difference shown"),
        (-0.5, None, "not compared"),
    ],
)
def test_a_change_is_significant_and_no_smaller_than_the_least_drop(call, difference, q, change):
    assert call("change(?::double, ?::double, least_drop := 0.05)", difference, q) == change
