import math
from random import Random

import pytest

RATES = {
    "perfect": [(4, 4), (9, 9), (2, 2)],
    "nothing": [(0, 4), (0, 9)],
    "alike": [(2, 3), (4, 6), (6, 9), (2, 3)],
}
SQL = """
    with templates as (select unnest(?::bigint[]) as a, unnest(?::bigint[]) as b),
    rates as (
        select
            statistics.macro_rate(a, b) as macro_rate,
            statistics.macro_se(a, b) as macro_se,
            statistics.row_rate(a, b) as row_rate,
            statistics.row_rate_se(a, b) as row_rate_se,
            statistics.intra_template_correlation(a, b) as correlation,
            count(*) as g,
            sum(b) as n
        from templates
    )
    select
        rates.* exclude (g, n),
        statistics.effective_n(macro_rate, macro_se, g, n) as effective_n,
        statistics.interval(macro_rate, macro_se, g, n) as interval
    from rates
"""


def some_counts(seed: int) -> list[tuple[int, int]]:
    """Templates of every size, whose rates lie near 1, near 0 or anywhere."""
    random = Random(seed)
    rows = [random.choice((1, 2, 3, 10, 42)) for _ in range(random.choice((2, 3, 5, 40, 140)))]
    near = random.choice((0.02, 0.5, 0.9, 0.99))
    return [(sum(random.random() < near for _ in range(n)), n) for n in rows]


@pytest.mark.parametrize("counts", [*(some_counts(seed) for seed in range(25)), *RATES.values()], ids=str)
def test_rates_errors_and_intervals_are_those_of_their_definitions(macros, naive, counts):
    columns = [list(column) for column in zip(*counts, strict=True)]
    found = macros.execute(SQL, columns).fetchall()[0]
    row_rate = sum(columns[0]) / sum(columns[1])
    wanted = (naive.macro_rate(counts), naive.macro_se(counts), row_rate, naive.row_rate_se(counts))
    assert found[:4] == pytest.approx(wanted, rel=1e-9, abs=1e-7)
    correlation = naive.correlation(counts)
    assert found[4] == (None if correlation is None else pytest.approx(correlation, rel=1e-8, abs=1e-9))
    assert found[5] == pytest.approx(naive.effective_n(counts), rel=1e-7)
    interval = naive.interval(counts, naive.t_quantile(0.975, len(counts) - 1))
    assert (found[6]["low"], found[6]["high"]) == pytest.approx(interval, abs=1e-7)


def test_one_template_alone_has_a_rate_and_no_interval(over):
    assert over("macro_rate(a, b)", [(3, 4)]) == 0.75
    for measure in ("macro_se(a, b)", "row_rate_se(a, b)", "intra_template_correlation(a, b)"):
        assert over(measure, [(3, 4)]) is None
    assert over("interval(statistics.macro_rate(a, b), statistics.macro_se(a, b), 1, 4)", [(3, 4)]) is None


def test_no_template_at_all_has_nothing(over):
    for measure in ("macro_rate(a, b)", "macro_se(a, b)", "row_rate(a, b)", "row_rate_se(a, b)"):
        assert over(measure, []) is None


def test_templates_that_do_not_vary_count_as_one_row_each(call, over):
    # 2/3 cannot be written exactly: a remainder of rounding is no variation
    rows = [(2, 3)] * 7 + [(28, 42)] * 6
    assert (
        over("effective_n(statistics.macro_rate(a, b), statistics.macro_se(a, b), count(*), sum(b))", rows) == 13
    )
    assert over("row_rate_se(a, b)", rows) == 0
    perfect = call("interval(1, 0, 38, 380)")
    assert (perfect["low"], perfect["high"]) == pytest.approx((38 / (38 + 2.026192463**2), 1), abs=1e-8)


def test_the_same_rows_give_the_same_digits_in_any_order(macros):
    random, rows = Random(1), [(i % 11, 11 + i % 13) for i in range(3000)]
    found = set()
    for _ in range(5):
        random.shuffle(rows)
        columns = [list(column) for column in zip(*rows, strict=True)]
        found.add(str(macros.execute(SQL, columns).fetchall()))
    assert len(found) == 1


@pytest.mark.parametrize(("passed", "rows"), [(81, 263), (15, 148), (0, 20), (20, 20), (1, 29), (1, 1)])
def test_wilsons_interval_of_independent_rows(call, naive, passed, rows):
    found = call("wilson_of_counts(?, ?)", passed, rows)
    assert tuple(found.values()) == pytest.approx(naive.wilson(passed / rows, rows, 1.959963984540054), abs=1e-12)
    assert 0 <= found["low"] <= found["high"] <= 1


@pytest.mark.parametrize(
    "expression",
    [
        "wilson(null, 5, 2)",
        "wilson(0.5, null, 2)",
        "wilson(0.5, 5, null)",
        "wilson(0.5, 0, 2)",
        "wilson_of_counts(0, 0)",
    ],
)
def test_without_rows_there_is_no_interval(call, expression):
    assert call(expression) is None


def test_a_wider_interval_has_more_confidence(call, naive):
    found = call("interval(0.8, 0.05, 20, 200, confidence := 0.99)")
    n = min(200, 0.8 * 0.2 / 0.05**2)
    assert tuple(found.values()) == pytest.approx(naive.wilson(0.8, n, naive.t_quantile(0.995, 19)), abs=1e-9)


def test_on_these_very_prompts_only_samples_vary(over, naive):
    counts = [(3, 4), (2, 2), (0, 5), (1, 2)]
    assert over("fixed_library_se(a, b)", counts) == pytest.approx(naive.fixed_library_se(counts))
    assert over("fixed_library_se(a, b)", [(1, 1), (3, 4)]) is None


@pytest.mark.parametrize("seed", range(5))
def test_shares_in_decimals_have_the_mean_and_error_of_a_list(over, seed):
    random = Random(seed)
    shares = [(random.choice((1 / 3, -2 / 7, 0.0, random.uniform(-1, 1))), None) for _ in range(200)]
    assert over("mean_of_shares(a)", shares) == pytest.approx(over("macro_rate(a, 1)", shares), abs=1e-15)
    assert over("se_of_shares(a)", shares) == pytest.approx(over("macro_se(a, 1)", shares), rel=1e-12)


def test_shares_that_do_not_vary_have_no_error(over):
    assert over("se_of_shares(a)", [(0.1, None)] * 7) == 0
    assert over("se_of_shares(a)", [(0.1, None)]) is None


@pytest.mark.parametrize("number", [math.nan, math.inf, 1e300])
def test_sums_of_what_is_no_number_are_null(over, number):
    rows = [(0.5, 1), (number, 1), (0.25, 1)]
    assert over("total(a)", rows) is None
    assert over("row_rate(a, b)", rows) is None
    assert over("mean_of_shares(a)", rows) is None
    assert over("se_of_shares(a)", rows) is None


def test_sums_pass_over_what_is_missing(over):
    rows = [(0.5, 1), (None, 1), (0.25, 1)]
    assert over("total(a)", rows) == 0.75
    assert over("mean_of_shares(a)", rows) == 0.375


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_what_is_no_number_has_no_interval(call, number):
    assert call("interval(?, 0.1, 10, 10)", number) is None
    assert call("interval(0.9, ?, 10, 10)", number) is None
    assert call("wilson(0.9, ?, 2)", number) is None
    assert call("wilson(0.9, 10, ?)", number) is None
    assert call("effective_n(0.9, ?, 10, 10)", number) is None


@pytest.mark.parametrize(("number", "total"), [(1e12 - 0.5, 1e12), (1e12, None), (-1e12, None), (math.nan, None)])
def test_a_total_holds_numbers_below_a_million_millions(over, number, total):
    assert over("total(a)", [(number, 0), (0.5, 0), (None, 0)]) == total
