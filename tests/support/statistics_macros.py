"""The macros in a database of their own, and their definitions computed naively, as they are written."""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from statistics import NormalDist, fmean, stdev
from typing import Any

import duckdb
import pytest

from biasgrid.warehouse.build.macros import define

Counts = Sequence[tuple[float, float]]
"""Per template: rows that pass, rows."""


@pytest.fixture(scope="session")
def macros() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as warehouse:
        define(warehouse)
        yield warehouse


@pytest.fixture(scope="session")
def call(macros: duckdb.DuckDBPyConnection) -> Callable[..., Any]:
    """The value of an SQL expression in which `statistics.` may be left out before the first name."""

    def value(expression: str, *parameters: object) -> Any:
        row = macros.execute(f"select statistics.{expression}", parameters).fetchone()
        assert row is not None
        return row[0]

    return value


@pytest.fixture(scope="session")
def over(macros: duckdb.DuckDBPyConnection) -> Callable[..., Any]:
    """The value of an aggregating macro over rows of numbers, whose columns are `a` and `b`."""

    def value(expression: str, rows: Sequence[Sequence[float | None]]) -> Any:
        columns = [[row[0] for row in rows], [row[1] for row in rows]]
        sql = f"select statistics.{expression} from (select unnest(?::double[]) as a, unnest(?::double[]) as b)"
        row = macros.execute(sql, columns).fetchone()
        assert row is not None
        return row[0]

    return value


@pytest.fixture(scope="session")
def adjusted(macros: duckdb.DuckDBPyConnection) -> Callable[..., list[float | None]]:
    """p values adjusted as those of one comparison, in the order given."""

    def values(p_values: Sequence[float | None]) -> list[float | None]:
        sql = """
            with tests as (select 1 as run, unnest(?::double[]) as p, unnest(range(?)) as place),
            stepped as (select *, statistics.benjamini_hochberg_step(p, run) as step from tests)
            select statistics.benjamini_hochberg(step, p, run) from stepped order by place
        """
        return [value for (value,) in macros.execute(sql, [p_values, len(p_values)]).fetchall()]

    return values


class Naive:
    """Each formula as it stands in its definition, over plain lists."""

    @staticmethod
    def t_cdf(t: float, df: float) -> float:
        """Half, and the density's integral from 0 to t by Simpson's rule, over the angle atan(t/√df)."""
        head = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(math.pi)
        angle, steps = math.atan(t / math.sqrt(df)), 4000
        at = [math.cos(angle * i / steps) ** (df - 1) for i in range(steps + 1)]
        return 0.5 + head * angle / steps / 3 * (at[0] + at[-1] + 4 * sum(at[1:-1:2]) + 2 * sum(at[2:-1:2]))

    @classmethod
    def t_quantile(cls, p: float, df: float) -> float:
        if p < 0.5:
            return -cls.t_quantile(1 - p, df)
        low, high = 0.0, 1.0
        while cls.t_cdf(high, df) < p:
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if cls.t_cdf(middle, df) < p else (low, middle)
        return (low + high) / 2

    @staticmethod
    def binomial_cdf(k: int, n: int, p: float) -> float:
        exact = Fraction(str(p))
        return float(sum(math.comb(n, i) * exact**i * (1 - exact) ** (n - i) for i in range(k + 1)))

    @staticmethod
    def macro_rate(counts: Counts) -> float:
        return fmean(s / n for s, n in counts)

    @staticmethod
    def macro_se(counts: Counts) -> float | None:
        return stdev(s / n for s, n in counts) / math.sqrt(len(counts)) if len(counts) > 1 else None

    @staticmethod
    def row_rate_se(counts: Counts) -> float | None:
        g, total = len(counts), sum(n for _, n in counts)
        p = sum(s for s, _ in counts) / total
        return math.sqrt(g / (g - 1) * sum((s - n * p) ** 2 for s, n in counts)) / total if g > 1 else None

    @staticmethod
    def fixed_library_se(counts: Counts) -> float:
        return math.sqrt(sum(s / k * (1 - s / k) / (k - 1) for s, k in counts)) / len(counts)

    @classmethod
    def correlation(cls, counts: Counts) -> float | None:
        """One-way analysis of variance, row by row."""
        g, total = len(counts), sum(n for _, n in counts)
        p = sum(s for s, _ in counts) / total
        if g < 2 or total == g:
            return None
        between = sum(n * (s / n - p) ** 2 for s, n in counts) / (g - 1)
        within = sum(s * (1 - s / n) ** 2 + (n - s) * (s / n) ** 2 for s, n in counts) / (total - g)
        each = (total - sum(n * n for _, n in counts) / total) / (g - 1)
        whole = between + (each - 1) * within
        return (between - within) / whole if whole else None

    @classmethod
    def effective_n(cls, counts: Counts) -> float | None:
        p, se, total = cls.macro_rate(counts), cls.macro_se(counts), sum(n for _, n in counts)
        if se is None:
            return None
        return len(counts) if se < 1e-12 else min(total, p * (1 - p) / se**2)

    @staticmethod
    def wilson(p: float, n: float, q: float) -> tuple[float, float]:
        middle, half = p + q * q / (2 * n), q * math.sqrt(p * (1 - p) / n + q * q / (4 * n * n))
        return (middle - half) / (1 + q * q / n), (middle + half) / (1 + q * q / n)

    @classmethod
    def interval(cls, counts: Counts, q: float) -> tuple[float, float] | None:
        n = cls.effective_n(counts)
        return None if n is None else cls.wilson(cls.macro_rate(counts), n, q)

    @staticmethod
    def rows_for_power(tolerance: float, rate: float, power: float = 0.8) -> float:
        z = NormalDist().inv_cdf
        spread = z(0.975) * math.sqrt(tolerance * (1 - tolerance)) + z(power) * math.sqrt(rate * (1 - rate))
        return float(spread**2 / (rate - tolerance) ** 2)

    @staticmethod
    def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
        """p_(i)·m/i with the cumulative minimum from the top."""
        order = sorted(range(len(p_values)), key=lambda i: p_values[i], reverse=True)
        adjusted, least = [0.0] * len(p_values), 1.0
        for rank, i in zip(range(len(p_values), 0, -1), order, strict=True):
            least = min(least, p_values[i] * len(p_values) / rank)
            adjusted[i] = least
        return adjusted


@pytest.fixture(scope="session")
def naive() -> type[Naive]:
    return Naive


def mcnemar(only_now: int, only_earlier: int) -> float:
    """The exact two-sided p value, by its definition."""
    discordant = only_now + only_earlier
    tail = sum(math.comb(discordant, hits) for hits in range(min(only_now, only_earlier) + 1))
    return min(1.0, 2 * tail / 2**discordant)
