import math
from itertools import pairwise
from math import erfc, sqrt
from statistics import NormalDist

import pytest

from support.studentised_range import PROBABILITY, studentised_range_cdf

NORMAL = NormalDist()


@pytest.mark.parametrize(
    "p", [1e-300, 1e-12, 1e-5, 0.025, 0.07, 0.0751, 0.4, 0.5, 0.8, 0.925, 0.975, 0.995, 1 - 1e-9]
)
def test_normal_quantiles(call, p):
    assert call("normal_quantile(?)", p) == pytest.approx(NORMAL.inv_cdf(p), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("x", [-30, -8, -3.0001, -3, -2.9, -1, 0, 0.3, 1.96, 3, 3.0001, 9])
def test_the_normal_distribution_keeps_its_digits_in_either_tail(call, x):
    assert call("normal_cdf(?)", x) == pytest.approx(erfc(-x / sqrt(2)) / 2, rel=1e-11)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 7, 9, 10, 19, 37, 64, 139, 500, 999, 1000, 20_000])
def test_t_quantiles_to_a_millionth(call, naive, df):
    for p in (0.8, 0.95, 0.975, 0.995):
        assert call("t_quantile(?, ?)", p, df) == pytest.approx(naive.t_quantile(p, df), abs=1e-6)


@pytest.mark.parametrize(
    ("df", "p", "printed"),
    [
        (1, 0.975, 12.706205),
        (2, 0.975, 4.302653),
        (5, 0.975, 2.570582),
        (30, 0.995, 2.749996),
        (120, 0.95, 1.657651),
    ],
)
def test_t_quantiles_are_those_that_are_printed_in_tables(call, df, p, printed):
    assert call("t_quantile(?, ?)", p, df) == pytest.approx(printed, abs=1e-6)


def test_quantiles_undo_the_distribution(macros):
    sql = """
        select max(abs(statistics.t_cdf(statistics.t_quantile(p, df), df) - p))
        from (select unnest([0.001, 0.2, 0.5, 0.6, 0.9, 0.9999]) as p),
            (select 1 + range / 7 as df from range(700))
    """
    assert macros.execute(sql).fetchone()[0] < 1e-9


@pytest.mark.parametrize("t", [-40, -2.5, -0.1, 0, 0.1, 1, 2.5, 40])
@pytest.mark.parametrize("df", [1, 2, 3.5, 10, 200])
def test_the_t_distribution_is_its_densitys_integral(call, naive, t, df):
    assert call("t_cdf(?, ?)", t, df) == pytest.approx(naive.t_cdf(t, df), abs=1e-9)


def test_tails_of_t_keep_their_digits(call):
    # with two degrees of freedom the tail has a closed form
    t = 1e6
    exact = 2 / ((2 + t * t) * (1 + t / (2 + t * t) ** 0.5))
    assert call("t_p_value(?, 2)", t) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("t", [1e-12, 1e-8, 1e-4, 0.3, 40.0, 1e9])
def test_one_degree_of_freedom_keeps_its_digits(call, t):
    # the Cauchy distribution has a closed form
    assert call("t_p_value(?, 1)", t) == pytest.approx(2 / math.pi * math.atan2(1, t), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 11, 236, 700])
def test_the_binomial_distribution_is_the_sum_of_its_terms(call, naive, n):
    for p in (0.5, 0.1):
        for k in {0, 1, n // 3, n // 2, n - 1}:
            exact = naive.binomial_cdf(k, n, p)
            assert call("binomial_cdf(?, ?, ?)", k, n, p) == pytest.approx(exact, rel=1e-9, abs=1e-300)
    assert call("binomial_cdf(-1, ?, 0.5)", n) == 0
    assert call("binomial_cdf(?, ?, 0.5)", n, n) == 1


@pytest.mark.parametrize(
    "expression",
    [
        "normal_quantile(null)",
        "normal_quantile(0)",
        "normal_quantile(1)",
        "normal_cdf(null)",
        "t_quantile(0.975, null)",
        "t_quantile(0.975, 0)",
        "t_quantile(0, 5)",
        "t_quantile('nan'::double, 5)",
        "t_quantile(1, 5)",
        "t_quantile(null, 5)",
        "t_p_value(null, 5)",
        "t_p_value(2, 0)",
        "t_p_value('nan'::double, 5)",
        "t_p_value(2, 'nan'::double)",
        "t_cdf('nan'::double, 5)",
        "t_cdf(2, null)",
        "binomial_cdf(1, null, 0.5)",
        "binomial_cdf(-1, null, 0.5)",
        "binomial_cdf(-1, 4, null)",
        "binomial_cdf(null, 4, 1)",
        "studentised_range_quantile(1, 5)",
        "studentised_range_quantile(3, 0)",
        "studentised_range_quantile(null, 5)",
    ],
)
def test_what_has_no_answer_is_null(call, expression):
    assert call(expression) is None


def test_no_column_is_taken_for_a_lambdas_parameter(macros):
    sql = """
        select statistics.t_quantile(t_, step_), statistics.wilson_of_counts(given_, rest_).low
        from (select 0.975 as t_, 5 as step_, 81 as given_, 263 as rest_)
    """
    assert macros.execute(sql).fetchone() == pytest.approx((2.570582, 0.255289), abs=1e-6)


def test_every_quantile_of_the_studentised_range_has_its_probability(macros):
    for groups, degrees, quantile in macros.execute("from statistics.studentised_range").fetchall():
        probability = studentised_range_cdf(quantile, groups, None if math.isinf(degrees) else int(degrees))
        assert probability == pytest.approx(PROBABILITY, abs=2e-5), (groups, degrees)


PUBLISHED = {
    (0.975, 1): 12.706204736,
    (0.975, 2): 4.302652730,
    (0.975, 3): 3.182446305,
    (0.975, 5): 2.570581836,
    (0.975, 10): 2.228138852,
    (0.975, 30): 2.042272456,
    (0.975, 37): 2.026192463,
    (0.975, 120): 1.979930405,
    (0.975, 200): 1.971896224,
    (0.975, 1000): 1.962339081,
    (0.95, 1): 6.313751515,
    (0.95, 10): 1.812461123,
    (0.995, 10): 3.169272673,
    (0.995, 30): 2.749995654,
}


@pytest.mark.parametrize(("at", "value"), PUBLISHED.items())
def test_quantiles_of_t_are_those_of_published_tables(call, at, value):
    assert call("t_quantile(?, ?)", *at) == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("probability", [0.5, 0.6, 0.9, 0.975, 0.999])
def test_with_one_and_two_degrees_of_freedom_the_quantile_of_t_has_a_closed_form(call, probability):
    central = 2 * probability - 1
    assert call("t_quantile(?, 1)", probability) == pytest.approx(math.tan(math.pi * central / 2), abs=1e-9)
    in_two = central * sqrt(2 / (1 - central**2))
    assert call("t_quantile(?, 2)", probability) == pytest.approx(in_two, abs=1e-9)


def test_the_quantile_of_t_falls_smoothly_as_degrees_of_freedom_grow(call):
    quantiles = [call("t_quantile(0.975, ?)", freedom) for freedom in range(150, 260)]
    steps = [before - after for before, after in pairwise(quantiles)]
    assert all(0 < after < before for before, after in pairwise(steps))


def test_the_lower_quantiles_of_t_mirror_the_upper(call):
    assert call("t_quantile(0.025, 7)") == -call("t_quantile(0.975, 7)")
