from math import erfc, sqrt
from statistics import NormalDist

import pytest

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
        "t_quantile(1, 5)",
        "t_quantile(null, 5)",
        "t_p_value(null, 5)",
        "t_p_value(2, 0)",
        "t_cdf(2, null)",
        "binomial_cdf(1, null, 0.5)",
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
