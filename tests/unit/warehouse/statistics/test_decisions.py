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


@pytest.mark.parametrize("tolerance", [0, 0.01, 0.1, 0.5, 0.75, 0.9, 0.95, 0.99])
def test_fewest_templates_for_a_perfect_score(call, naive, tolerance):
    def reaches(g: int) -> bool:
        return bool(g / (g + naive.t_quantile(0.975, g - 1) ** 2) >= tolerance)

    found = call("templates_for_perfect_score(?)", tolerance)
    assert reaches(found)
    assert found == 2 or not reaches(found - 1)


def test_at_nine_in_ten_it_takes_38_templates_and_at_ten_in_ten_none_would_do(call):
    assert call("templates_for_perfect_score(0.9)") == 38
    assert call("templates_for_perfect_score(1)") is None
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
