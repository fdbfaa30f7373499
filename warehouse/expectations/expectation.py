"""Defines the four kinds of expectations of a table, which SQL can narrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from biasgrid.warehouse.build.sql_quoting import literal, quote

DIGITS = 8
"""Decimal places for comparison: a sum of thirds can slightly exceed one."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """A column contains only these values or null."""

    column: str
    values: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return f"{self.column} is one of {', '.join(self.values)}"

    @property
    def broken(self) -> str:
        """SQL condition that a violating row meets."""
        return f"{quote(self.column)} not in ({', '.join(map(literal, self.values))})"


@dataclass(frozen=True, slots=True)
class Between:
    """The numbers of a column, if not null, are in a range; without `high` it is open."""

    column: str
    low: float
    high: float | None = None

    @property
    def sentence(self) -> str:
        upper = "" if self.high is None else f" and {self.high:g} at most"
        return f"{self.column} is {self.low:g} at least{upper}"

    @property
    def number(self) -> str:
        return f"round({quote(self.column)}::double, {DIGITS})"

    @property
    def broken(self) -> str:
        # NaN is greater than infinity in DuckDB, so it violates an open range as well
        high = "'infinity'::double" if self.high is None else self.high
        return f"{self.number} not between {self.low} and {high}"


@dataclass(frozen=True, slots=True)
class RowRule:
    """A condition on every row by itself."""

    sentence: str
    broken: str


@dataclass(frozen=True, slots=True)
class Rows:
    """A condition on the rows together, or on their relation to other tables."""

    sentence: str
    rows: str
    """A SELECT of violations, with the columns `ids`."""
    ids: tuple[str, ...]
    doubted: str = "select true"
    """Selects candidates for a closer check, stored as `lake.doubted`; if it selects none, `rows` is not
    queried."""


Expectation = OneOf | Between | RowRule | Rows


@dataclass(frozen=True, slots=True)
class Suite:
    """All expectations of one table."""

    relation: str
    """Such as `lake.verdicts` or `marts.pass_rates`."""
    ids: tuple[str, ...]
    """Columns that identify a row."""
    expectations: tuple[Expectation, ...]

    @property
    def of_the_lake(self) -> bool:
        return self.relation.startswith("lake.")


def unique(relation: str, key: Sequence[str], where: str = "true", sentence: str = "") -> Rows:
    """Expectation that no two rows have the same key."""
    listed = ", ".join(map(quote, key))
    rows = f"select {listed} from {relation} where {where}"  # noqa: S608 - names from our own schemas
    return Rows(
        sentence or f"one row per {' × '.join(key)}",
        f"from ({rows}) group by all having count(*) > 1",
        tuple(key),
        # comparing millions of numbers is faster than comparing texts
        f"select true from ({rows}) having count(*) > count(distinct hash({listed}))",  # noqa: S608
    )


def expect_reference(relation: str, ids: Sequence[str], columns: Sequence[str], to: str) -> Rows:
    """Expectation that the values of `columns`, if none is null, exist in columns of the same names in `to`."""
    listed = ", ".join(map(quote, columns))
    named = " and ".join(f"{quote(column)} is not null" for column in columns)
    there = f"select distinct {listed} from {to}"  # noqa: S608 - names from our own schemas
    strays = f"select distinct {listed} from {relation} where {named}"  # noqa: S608
    return Rows(
        f"{' × '.join(columns)} is there in {to}",
        f"from {relation} semi join lake.doubted using ({listed})",
        tuple(ids),
        f"from ({strays}) anti join ({there}) using ({listed})",
    )
