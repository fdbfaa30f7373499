"""The t quantiles against published tables; the templates that a tolerance needs against the interval itself."""

from itertools import pairwise
from math import pi, sqrt, tan

import pytest

from biasgrid.catalogs.scenario.coverage import perfect_lower_bound, t_quantile, templates_needed

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
def test_quantiles_are_those_of_published_tables(at, value):
    assert t_quantile(*at) == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("probability", [0.5, 0.6, 0.9, 0.975, 0.999])
def test_with_one_and_two_degrees_of_freedom_the_quantile_has_a_closed_form(probability):
    central = 2 * probability - 1
    assert t_quantile(probability, 1) == pytest.approx(tan(pi * central / 2), abs=1e-9)
    in_two = central * sqrt(2 / (1 - central**2))
    assert t_quantile(probability, 2) == pytest.approx(in_two, abs=1e-9)


def test_the_quantile_falls_smoothly_as_degrees_of_freedom_grow():
    quantiles = [t_quantile(0.975, freedom) for freedom in range(150, 260)]
    steps = [before - after for before, after in pairwise(quantiles)]
    assert all(0 < after < before for before, after in pairwise(steps))


def test_the_lower_quantiles_mirror_the_upper():
    assert t_quantile(0.025, 7) == -t_quantile(0.975, 7)


@pytest.mark.parametrize(("probability", "freedom"), [(0, 5), (1, 5), (0.9, 0), (float("nan"), 5)])
def test_there_is_no_quantile_outside(probability, freedom):
    with pytest.raises(ValueError, match="no quantile"):
        t_quantile(probability, freedom)


def test_nine_in_ten_needs_38_templates():
    assert templates_needed(0.9) == 38


@pytest.mark.parametrize("tolerance", [0.0, 0.3, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_it_is_the_least_number_whose_perfect_score_is_decided(tolerance):
    needed = templates_needed(tolerance)
    assert needed == next(count for count in range(2, 10_000) if perfect_lower_bound(count) >= tolerance)


def test_no_number_of_templates_shows_perfection():
    assert templates_needed(1) is None
    assert templates_needed(1 - 1e-12) is not None


@pytest.mark.parametrize("tolerance", [-0.1, 1.1, float("nan")])
def test_what_is_no_share_is_refused(tolerance):
    with pytest.raises(ValueError, match="no share"):
        templates_needed(tolerance)
