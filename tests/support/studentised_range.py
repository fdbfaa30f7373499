"""Quantiles of the studentised range, as a table that the macros look up.

    python tests/support/studentised_range.py

writes `warehouse/macros/studentised_range.sql`. It takes seconds and is needed only to change the grid.
"""

from collections.abc import Callable, Iterator
from functools import cache
from math import erfc, exp, lgamma, log, pi, sqrt
from pathlib import Path

PROBABILITY = 0.95
GROUPS = (*range(2, 21), 22, 25, 28, 32, 36, 40, 45, 50, 60, 80, 100, 150, 200, 300, 500, 1000, 2000)
DEGREES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 60, 120)
"""Degrees of freedom of the error; infinitely many stand last in the table."""
_STEP = 0.15
_FILE = Path(__file__).parents[2] / "warehouse" / "macros" / "studentised_range.sql"


def range_cdf(width: float, groups: int) -> float:
    """P(max − min ≤ width) of standard normals: k ∫ φ(z) [Φ(z) − Φ(z − width)]^(k−1) dz (Tukey 1953)."""
    inner = (weight * max(0.0, below - _normal_cdf(z - width)) ** (groups - 1) for z, weight, below in _normals())
    return groups * sum(inner)


def studentised_range_cdf(q: float, groups: int, degrees: int | None) -> float:
    """The range over an independent estimate of its standard deviation; None: that is known."""
    if degrees is None:
        return range_cdf(q, groups)
    return sum(weight * range_cdf(q * deviation, groups) for deviation, weight in _deviations(degrees))


def quantile(groups: int, degrees: int | None, probability: float = PROBABILITY) -> float:
    """Where `studentised_range_cdf` is `probability`."""
    return _root(lambda q: studentised_range_cdf(q, groups, degrees) - probability, 2.0, 8.0)


@cache
def _normals() -> tuple[tuple[float, float, float], ...]:
    points = (step * _STEP for step in range(-40, 61))
    return tuple((z, _STEP * exp(-z * z / 2) / sqrt(2 * pi), _normal_cdf(z)) for z in points)


@cache
def _deviations(degrees: int) -> tuple[tuple[float, float], ...]:
    """χ/√df at e^u, by the trapezium rule in u, which is exact to many digits for what decays so fast."""
    step = 0.12 / sqrt(1 + degrees / 8)
    points = (exp(step * number) for number in range(-80, 41))
    head = log(2) + degrees / 2 * log(degrees / 2) - lgamma(degrees / 2)
    weighted = ((s, step * exp(head + degrees * (log(s) - s * s / 2))) for s in points)
    return tuple((s, weight) for s, weight in weighted if weight > 1e-14)


def _normal_cdf(x: float) -> float:
    return 0.5 * erfc(-x / sqrt(2))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """By the rule of false position, Illinois variant, in the logarithm: quantiles reach from 2 to 100."""
    while function(high) < 0:
        low, high = high, 2 * high
    at_low, at_high = function(low), function(high)
    for _ in range(60):
        middle = exp((log(low) * at_high - log(high) * at_low) / (at_high - at_low))
        at_middle = function(middle)
        if abs(at_middle) < 1e-9:
            break
        if at_middle * at_high < 0:
            low, at_low = high, at_high
        else:
            at_low /= 2
        high, at_high = middle, at_middle
    return middle


def _lines() -> Iterator[str]:
    yield f"-- Written by `python tests/support/studentised_range.py`: {PROBABILITY} quantiles."
    yield ""
    yield "create table statistics.studentised_range as"
    yield "select"
    yield "    groups,"
    yield f"    unnest([{', '.join(map(str, DEGREES))}, 'infinity'::double]) as degrees,"
    yield "    unnest(quantiles) as quantile"
    yield "from (values"
    for groups in GROUPS:
        listed = ", ".join(f"{quantile(groups, degrees):.4f}" for degrees in (*DEGREES, None))
        yield f"    ({groups}, [{listed}]::double[]){'' if groups == GROUPS[-1] else ','}"
    yield ") as of_groups (groups, quantiles);"


if __name__ == "__main__":
    _FILE.write_text("\n".join(_lines()) + "\n", encoding="utf-8")
