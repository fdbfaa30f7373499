"""How many templates a decision needs, and the quantiles of Student's t behind it.

A perfect score of G templates has the Wilson interval's lower bound G/(G + q²), where q is the .975 quantile of t
with G − 1 degrees of freedom: below the tolerance, no score of so few templates can be decided as met.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from math import atan, cos, pi, sin, sqrt
from statistics import NormalDist
from typing import Final

CONFIDENCE: Final = 0.975
FEWEST: Final = 2
"""One template has no spread, so no interval."""
_EXACT: Final = 200
"""Degrees of freedom up to which the distribution is summed; beyond, four terms of its expansion are exact to
nine digits."""


def templates_needed(tolerance: float) -> int | None:
    """The least number of templates with which a perfect score is decided as met, 38 at a tolerance of .9; None at
    1, which no number of templates can show. Raises ValueError where the tolerance is no share, 0–1."""
    if not 0 <= tolerance <= 1:
        raise ValueError(f"`{tolerance}` is no share: a tolerance goes from 0 to 1")
    if tolerance == 1:
        return None
    enough = FEWEST
    while perfect_lower_bound(enough) < tolerance:
        enough *= 2
    return FEWEST + bisect_left(range(FEWEST, enough), tolerance, key=perfect_lower_bound)


def perfect_lower_bound(templates: int) -> float:
    """The lower bound, 0–1, of the interval of a perfect score of so many templates, at least two."""
    return templates / (templates + t_quantile(CONFIDENCE, templates - 1) ** 2)


@lru_cache(maxsize=4096)
def t_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t at a probability between 0 and 1, by degrees of freedom, to nine digits."""
    if not 0 < probability < 1 or freedom < 1:
        raise ValueError(f"t has no quantile at `{probability}` with `{freedom}` degrees of freedom")
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    return _summed(probability, freedom) if freedom <= _EXACT else _expanded(probability, freedom)


def _summed(probability: float, freedom: int) -> float:
    """By bisection of the distribution."""
    low, high = 0.0, 1.0
    while (1 + _central(high, freedom)) / 2 < probability:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        below = (1 + _central(middle, freedom)) / 2 < probability
        low, high = (middle, high) if below else (low, middle)
    return high


def _central(t: float, freedom: int) -> float:
    """The probability between −t and t: Abramowitz and Stegun, 26.7.3 (odd degrees) and 26.7.4 (even)."""
    odd = freedom % 2
    angle = atan(t / sqrt(freedom))
    term, total = cos(angle) if odd else 1.0, 0.0
    for factor in range(1 + odd, freedom, 2):
        total += term
        term *= cos(angle) ** 2 * factor / (factor + 1)
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


def _expanded(probability: float, freedom: int) -> float:
    """By the quantile of the normal distribution: Abramowitz and Stegun, 26.7.5."""
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / float(freedom) ** power for power, term in enumerate(terms))
