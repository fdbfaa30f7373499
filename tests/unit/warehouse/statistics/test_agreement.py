from math import sqrt
from random import Random
from typing import Any

import pytest


def expand_counts(counts: list[list[int]]) -> list[tuple[int, int]]:
    """Verdicts of both assessors, pair by pair."""
    return [(i, j) for i, row in enumerate(counts) for j, n in enumerate(row) for _ in range(n)]


@pytest.mark.parametrize("seed", range(6))
def test_kappa_and_ac1_are_those_counted_pair_by_pair(call, seed):
    random, q = Random(seed), 2 + seed % 3
    counts = [[random.randint(0, 30) + 40 * (i == j) for j in range(q)] for i in range(q)]
    pairs = expand_counts(counts)
    observed = sum(a == b for a, b in pairs) / len(pairs)
    first, second = ([sum(pair[side] == i for pair in pairs) / len(pairs) for i in range(q)] for side in (0, 1))
    by_chance = sum(a * b for a, b in zip(first, second, strict=True))
    assert call("cohens_kappa(?::bigint[][])", counts) == pytest.approx((observed - by_chance) / (1 - by_chance))
    shares = [(a + b) / 2 for a, b in zip(first, second, strict=True)]
    by_chance = sum(share * (1 - share) for share in shares) / (q - 1)
    assert call("gwets_ac1(?::bigint[][])", counts) == pytest.approx((observed - by_chance) / (1 - by_chance))


def test_kappa_is_null_where_all_verdicts_are_the_same_but_ac1_is_not(call):
    assert call("cohens_kappa([[50, 0], [0, 0]])") is None
    assert call("gwets_ac1([[50, 0], [0, 0]])") == 1


def test_sensitivity_and_specificity(call):
    assert call("sensitivity(90, 10)") == 0.9
    assert call("specificity(85, 15)") == 0.85
    assert call("sensitivity(0, 0)") is None


def test_the_rate_behind_a_judge_that_errs(call):
    true_rate, sensitivity, specificity = 0.7, 0.95, 0.8
    passed = true_rate * sensitivity + (1 - true_rate) * (1 - specificity)
    assert call("corrected_rate(?, ?, ?)", passed, sensitivity, specificity) == pytest.approx(true_rate)
    assert call("corrected_rate(0.8, 0.5, 0.5)") is None  # a judge that guesses


def test_the_corrected_rates_error_is_that_of_the_delta_method(call):
    def correct_rate(p: float, q1: float, q0: float) -> float:
        return (p + q0 - 1) / (q0 + q1 - 1)

    given, n = (0.8, 0.9, 0.85), (400, 100, 100)
    step, variance = 1e-6, 0.0
    for i, size in enumerate(n):
        moved = [value + step * (k == i) for k, value in enumerate(given)]
        slope = (correct_rate(*moved) - correct_rate(*given)) / step
        variance += slope**2 * given[i] * (1 - given[i]) / size
    assert call("corrected_rate_se(0.8, 400, 0.9, 100, 0.85, 100)") == pytest.approx(sqrt(variance), rel=1e-5)


def jackknife(call: Any, name: str, counts: list[list[int]]) -> float:
    """The standard error of a coefficient by leaving out one pair at a time."""
    n = sum(map(sum, counts))
    deviations, mean = [], 0.0
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            if count:
                less = [[c - ((i, j) == (k, m)) for m, c in enumerate(r)] for k, r in enumerate(counts)]
                deviations.append((count, call(f"{name}(?::bigint[][])", less)))
    mean = sum(count * value for count, value in deviations) / n
    return sqrt((n - 1) / n * sum(count * (value - mean) ** 2 for count, value in deviations))


@pytest.mark.parametrize("name", ["cohens_kappa", "gwets_ac1"])
@pytest.mark.parametrize(
    "counts", [[[118, 25], [12, 60]], [[40, 5, 6], [3, 55, 9], [8, 4, 70]], [[300, 4], [6, 9]]]
)
def test_the_error_of_an_agreement_is_about_that_of_leaving_one_out(call, name, counts):
    error = call(f"{name}_se(?::bigint[][], ?::bigint[][])", counts, counts)
    assert error == pytest.approx(jackknife(call, name, counts), rel=0.06)


def test_a_published_agreement_with_its_error(call):
    gwets = [[118, 5], [2, 0]]
    assert call("gwets_ac1(?::bigint[][])", gwets) == pytest.approx(0.9408, abs=5e-5)
    assert call("gwets_ac1_se(?::bigint[][], ?::bigint[][])", gwets, gwets) == pytest.approx(0.0230, abs=5e-5)


def test_equal_weights_give_the_same_as_counts(call):
    counts = [[40, 5], [9, 30]]
    tripled, squares = [[3 * c for c in row] for row in counts], [[9 * c for c in row] for row in counts]
    for name in ("cohens_kappa_se", "gwets_ac1_se"):
        weighted = call(f"{name}(?::bigint[][], ?::bigint[][])", tripled, squares)
        assert weighted == pytest.approx(call(f"{name}(?::bigint[][], ?::bigint[][])", counts, counts))
    assert call("rows_of_weights(30, 90)") == 10


def test_an_agreement_of_all_or_none_has_an_interval_still(call):
    low = call("agreement_interval(1, 0, 1, 20, 1.959963985).low")
    assert low == pytest.approx(2 * 0.838875 - 1, abs=1e-5)
    assert call("agreement_interval(1, 0, 1, 20, 1.959963985).high") == 1
    assert call("agreement_interval(-1, 0, 0, 20, 1.959963985).high") == pytest.approx(1 - 2 * 0.838875, abs=1e-5)
    assert call("agreement_interval(0.5, 0.1, 0.8, 50, 1.959963985).low") == pytest.approx(0.5 - 0.196, abs=1e-4)
    assert call("agreement_interval(null, null, 1, 20, 1.959963985)") is None


@pytest.mark.parametrize("counts", [[[90, 0], [10, 0]], [[0, 8], [0, 0]], [[0, 0], [5, 5]]])
def test_a_kappa_of_a_constant_assessor_has_no_interval(call, counts):
    kappa, se = (call(f"{name}") for name in (f"cohens_kappa({counts})", f"cohens_kappa_se({counts}, {counts})"))
    assert kappa == 0
    observed = (counts[0][0] + counts[1][1]) / sum(map(sum, counts))
    assert call("agreement_interval(?::double, ?::double, ?, 100, 1.959963985)", kappa, se, observed) is None


@pytest.mark.parametrize("place", [1, 3, 5])
def test_without_rows_a_corrected_rate_has_no_error(call, place):
    given: list[float] = [0.8, 400, 0.9, 100, 0.85, 100]
    given[place] = 0
    assert call("corrected_rate_se(?, ?, ?, ?, ?, ?)", *given) is None


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("place", range(6))
def test_what_is_no_number_corrects_nothing(call, number, place):
    given: list[float] = [0.8, 400, 0.9, 100, 0.85, 100]
    given[place] = number
    assert call("corrected_rate_se(?, ?, ?, ?, ?, ?)", *given) is None
    assert place % 2 or call("corrected_rate(?, ?, ?)", given[0], given[2], given[4]) is None


def test_pairs_of_verdicts_fill_a_matrix_by_both_assessors(macros):
    pairs = "(values (null, true, 90), (true, false, 5), (false, true, 3), (true, true, 7)) as of_(a, b, w)"
    assert macros.execute(f"select statistics.two_by_two(a, b, w) from {pairs}").fetchone() == ([[7, 5], [3, 0]],)
    others = "(values (false, false, 2)) as of_(a, b, w)"
    assert macros.execute(f"select statistics.two_by_two(a, b, w) from {others}").fetchone() == ([[0, 0], [0, 2]],)


def test_each_rate_has_wilsons_interval_over_the_rows_of_its_own_verdict(macros, naive):
    two, squares = [[18, 6], [4, 36]], [[36, 12], [4, 36]]  # 12 rows of weight 2, and 40 of weight 1
    macros.execute(f"create or replace temp table weighed as select {two} as two, {squares} as two_squares")
    (row,) = macros.sql("from statistics.with_agreement('weighed')").pl().to_dicts()
    rates = {"sensitivity": (0.75, 12), "specificity": (0.9, 40), "observed_agreement": (54 / 64, 64**2 / 88)}
    for name, (rate, rows) in rates.items():
        interval = naive.wilson(rate, rows, 1.959963985)
        assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx(interval, abs=1e-7), name


@pytest.mark.parametrize(("coefficient", "se"), [(None, 0.1), (0.5, None)])
def test_an_agreement_without_coefficient_or_error_has_no_interval(call, coefficient, se):
    assert call("agreement_interval(?::double, ?::double, 0.8, 50, 1.96)", coefficient, se) is None
