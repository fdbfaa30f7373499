"""95% intervals of impact ratios: a category's rate over the greatest one.

Independent rates: score method (Koopman 1984, Biometrics 40, 513-517), by the restricted estimate of Miettinen and
Nurminen (1985). Where each decision chooses one of two categories, the rates depend on each other: their ratio is
the odds of the share, and takes the share's score interval (Wilson). Where a cell has fewer than FEW: Clopper and
Pearson's exact limits, of two independent rates at 97.5% each, so that both hold in at least 95%.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import exp, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import Any, Final

FEW: Final = 5
Z: Final = NormalDist().inv_cdf(0.975)
STEPS: Final = 80
Interval = tuple[float, float]
Rate = tuple[int, int]
"""How many are chosen, of how many."""


def ratio_interval(rate: Rate, best: Rate) -> Interval:
    """Of two independent rates; `best` is above 0."""
    (chosen, people), (most, of) = rate, best
    if min(chosen, people - chosen, most, of - most) < FEW:
        (low, high), (least, greatest) = (exact_interval(*one, error=0.025) for one in (rate, best))
        return low / greatest, high / least
    return score_interval(rate, best)


def score_interval(rate: Rate, best: Rate) -> Interval:
    """Koopman's, of two independent rates, neither 0."""
    (chosen, people), (most, of) = rate, best
    middle = (chosen / people) / (most / of)
    return _search(rate, best, 0.0, middle), _search(rate, best, 2 * people * of / most, middle)


def _search(rate: Rate, best: Rate, out: float, within: float) -> float:
    """Where the score statistic crosses its critical value, between a ratio beyond it and one that is not."""
    for _ in range(STEPS):
        between = (out + within) / 2
        out, within = (between, within) if _score(rate, best, between) > Z * Z else (out, between)
    return within


def _score(rate: Rate, best: Rate, ratio: float) -> float:
    """χ² with one degree of freedom for this ratio, at the rates that are most likely under it."""
    (chosen, people), (most, of) = rate, best
    if ratio <= 0:
        return float("inf")
    total, linear = people + of, ratio * (people + most) + chosen + of
    first = (linear - sqrt(max(linear * linear - 4 * ratio * total * (chosen + most), 0.0))) / (2 * total)
    second = first / ratio
    variance = first * (1 - first) / people + ratio * ratio * second * (1 - second) / of
    return float((chosen / people - ratio * most / of) ** 2 / variance)


def odds_interval(chosen: int, other: int) -> Interval:
    """Of `chosen` to `other`, where each decision chooses one of them; `other` is above 0."""
    decisions = chosen + other
    low, high = (exact_interval if min(chosen, other) < FEW else _wilson)(chosen, decisions)
    return low / (1 - low), high / (1 - high)


def _wilson(chosen: int, of: int) -> Interval:
    share, per = chosen / of, Z * Z / of
    half = Z * sqrt(share * (1 - share) / of + per / (4 * of))
    return (share + per / 2 - half) / (1 + per), (share + per / 2 + half) / (1 + per)


def exact_interval(chosen: int, of: int, error: float = 0.05) -> Interval:
    """Clopper and Pearson (1934)."""
    low = 0.0 if chosen == 0 else _bisect(lambda p: 1 - _at_most(chosen - 1, of, p) < error / 2)
    high = 1.0 if chosen == of else _bisect(lambda p: _at_most(chosen, of, p) > error / 2)
    return low, high


def _bisect(is_below: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low


def _at_most(chosen: int, of: int, p: float) -> float:
    """The binomial distribution function, for p between 0 and 1."""
    ways = (lgamma(of + 1) - lgamma(k + 1) - lgamma(of - k + 1) for k in range(chosen + 1))
    return sum(exp(way + k * log(p) + (of - k) * log1p(-p)) for k, way in enumerate(ways))


def with_intervals(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of rates with `impact_ratio_low` and `impact_ratio_high`; null of the greatest rate and where
    there is no ratio."""
    rows = [*rows]
    best: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for row in rows:
        if row["impact_ratio"] == 1:
            best.setdefault(_comparison(row), row)
    return [dict(row) | _limits(row, best.get(_comparison(row))) for row in rows]


def _comparison(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("rate_of", "model", "language", "what"))


def _limits(row: Mapping[str, Any], best: Mapping[str, Any] | None) -> dict[str, float | None]:
    low: float | None = None
    high: float | None = None
    if best is not None and row is not best and row["impact_ratio"] is not None:
        if row["rate_of"] == "selection":
            weight = best["people"] / row["people"]
            low, high = (weight * limit for limit in odds_interval(row["chosen"], best["chosen"]))
        else:
            low, high = ratio_interval((row["chosen"], row["people"]), (best["chosen"], best["people"]))
    return {"impact_ratio_low": low, "impact_ratio_high": high}
