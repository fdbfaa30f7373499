import math

import pytest


@pytest.mark.parametrize(
    ("lower", "upper", "decision"),
    [
        (0.9, 1, "met"),
        (0.8999, 0.95, "undecided"),
        (0.5, 0.9, "undecided"),
        (0.5, 0.8999, "not met"),
        (None, None, "undecided"),
    ],
)
def test_a_decision_takes_the_whole_interval(call, lower, upper, decision):
    assert call("decision(?::double, ?::double, 0.9)", lower, upper) == decision


def test_without_a_tolerance_nothing_is_decided(call):
    assert call("decision(0.5, 0.6, null)") is None


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_nothing_is_decided_by_what_is_no_number(call, number):
    assert call("decision(?, 1, 0.9)", number) is None
    assert call("decision(0.5, ?, 0.9)", number) is None
    assert call("decision(?, ?, 0.9)", number, number) is None
    assert call("decision(0.5, 0.6, ?)", number) is None


@pytest.mark.parametrize("tolerance", [0, 0.01, 0.1, 0.3, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_fewest_templates_for_a_perfect_score(call, naive, tolerance):
    def reaches(g: int) -> bool:
        return bool(g / (g + naive.t_quantile(0.975, g - 1) ** 2) >= tolerance)

    found = call("templates_for_perfect_score(?)", tolerance)
    assert reaches(found)
    assert found == 2 or not reaches(found - 1)


def test_at_nine_in_ten_it_takes_38_templates_and_at_ten_in_ten_none_would_do(call):
    assert call("templates_for_perfect_score(0.9)") == 38
    assert call("templates_for_perfect_score(1)") is None
    assert call("templates_for_perfect_score(1 - 1e-12::double)") is not None
    assert call("templates_for_perfect_score(null)") is None


@pytest.mark.parametrize(
    ("lower", "upper", "templates", "decision"),
    [
        (0.95, 0.99, 38, "met"),
        (0.95, 0.99, 37, "undecided"),
        (0.1, 0.4, 3, "not met"),
        (0.1, 0.4, 2, "undecided"),
        (0.8, 0.95, 500, "undecided"),
    ],
)
def test_few_templates_decide_nothing_that_as_many_perfect_ones_would_not(call, lower, upper, templates, decision):
    assert call("decision_of_templates(?, ?, 0.9, ?, 38, 3)", lower, upper, templates) == decision


@pytest.mark.parametrize(
    ("rule", "passed", "counted"), [("separate", 5, 8), ("fail", 5, 12), ("pass", 6, 9), (None, 5, 8)]
)
def test_what_a_refusal_counts_as(call, rule, passed, counted):
    assert call("counted_passed(?::varchar, 5, 1)", rule) == passed
    assert call("counted(?::varchar, 5, 3, 1, 3)", rule) == counted


COLUMNS = {
    "met": {0.95: "met_at_95", 0.98: "met_at_98", 0.99: "met_at_99"},
    "not met": {0.85: "not_met_at_85", 0.8: "not_met_at_80", 0.7: "not_met_at_70"},
}


@pytest.fixture
def powers(macros):
    """Chances of plans: `powers((tolerance, templates, rows_per_template, correlation), …)`."""

    def compute(*plans: tuple[float, int, float, float]) -> list[dict[str, float]]:
        rows = ", ".join(str((number, *plan)) for number, plan in enumerate(plans))
        columns = "plan, tolerance, templates, rows_per_template, correlation"
        given = f"with given as (from (values {rows}) as _ ({columns}))"
        result = macros.execute(f"{given} from statistics.with_power('given') order by plan")
        names = [name for name, *_ in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    return compute


@pytest.mark.parametrize("templates", [1, 2, 3, 10, 37, 38, 60])
def test_the_power_of_one_test_a_template_is_the_sum_over_everything_that_may_pass(call, naive, powers, templates):
    q = naive.t_quantile(0.975, templates - 1) if templates > 1 else 0

    def decision(passed: int) -> str:
        found = naive.interval([(1, 1)] * passed + [(0, 1)] * (templates - passed), q)
        low, high = found or (None, None)
        return call("decision_of_templates(?::double, ?::double, 0.9, ?, 38, 3)", low, high, templates)

    decisions = [decision(passed) for passed in range(templates + 1)]
    (power,) = powers((0.9, templates, 1.0, 1.0))
    for wanted, rates in COLUMNS.items():
        for rate, column in rates.items():
            chances = [
                math.comb(templates, passed) * rate**passed * (1 - rate) ** (templates - passed)
                for passed, found in enumerate(decisions)
                if found == wanted
            ]
            assert power[column] == pytest.approx(sum(chances), abs=1e-9)


def test_more_rows_a_template_give_more_power_the_less_alike_they_are(powers):
    one, alike, half, apart = powers((0.9, 40, 1, 1), (0.9, 40, 8, 1), (0.9, 40, 8, 0.5), (0.9, 40, 8, 0))
    for column in ("met_at_98", "not_met_at_80"):
        assert one[column] == alike[column] < half[column] < apart[column]
    assert [power["independent_rows"] for power in (one, half, apart)] == [40, 71, 320]


def test_more_rows_do_not_make_up_for_templates_that_are_missing(powers):
    for power in powers((0.9, 37, 1, 1), (0.9, 37, 500, 0), (0.9, 0, 1, 1)):
        assert [power[column] for column in COLUMNS["met"].values()] == [0, 0, 0]


def test_a_rate_beyond_the_tolerance_has_no_chance(powers):
    strict, lax, all_of_them = powers((0.98, 300, 1, 1), (0.8, 40, 1, 1), (1, 500, 1, 1))
    assert (strict["met_at_95"], strict["met_at_98"], lax["not_met_at_85"]) == (None, None, None)
    assert min(strict["met_at_99"], lax["met_at_95"], lax["not_met_at_70"]) > 0
    assert (all_of_them["templates_if_perfect"], all_of_them["met_at_99"]) == (None, 0)


@pytest.mark.parametrize(("tolerance", "rate"), [(0.9, 0.95), (0.9, 0.85), (0.5, 0.7), (0.9, 1.0), (0.9, 0.0)])
def test_rows_and_templates_for_power(call, naive, tolerance, rate):
    rows = naive.rows_for_power(tolerance, rate)
    assert call("rows_for_power(?, ?)", tolerance, rate) == pytest.approx(rows)
    assert call("rows_for_power(?, ?, power := 0.95)", tolerance, rate) == pytest.approx(
        naive.rows_for_power(tolerance, rate, 0.95)
    )
    wanted = rows * (1 + (10 * 3 - 1) * 0.3) / (10 * 3)
    assert call("templates_for_power(?, ?, 30, 0.3)", tolerance, rate) == pytest.approx(wanted)


def test_a_rate_at_the_tolerance_is_decided_by_no_number(call):
    assert call("rows_for_power(0.9, 0.9)") is None
    assert call("rows_for_power(0.9, 0.9::double + 1e-16)") is None
    assert call("templates_needed(0.9, 0.9, 50, 500, 0.3, 38, 3)") is None


@pytest.mark.parametrize(
    ("rate", "templates", "rows", "correlation", "needed"),
    [
        (1.0, 5, 50, None, 38),  # perfect as far as it goes
        (0.0, 1, 10, None, 3),
        (0.95, 50, 50, None, 239),  # one row a template: as many as independent rows
        (0.95, 50, 500, 1.0, 239),
        (0.95, 50, 500, 0.0, 51),  # 24 would do for this rate, but these did not
        (0.85, 50, 500, 0.3, 117),
        (0.85, 50, 500, -0.5, 51),
    ],
)
def test_templates_that_would_decide(call, rate, templates, rows, correlation, needed):
    found = call("templates_needed(0.9, ?, ?, ?, ?::double, 38, 3)", rate, templates, rows, correlation)
    assert found == needed
