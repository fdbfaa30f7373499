from random import Random

import pytest


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
