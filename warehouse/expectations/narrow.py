"""Narrows tables of any length by SQL to a few values per column, which Great Expectations can validate."""

# ruff: noqa: S608 - names from our own schemas and YAML

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import duckdb

from biasgrid.catalogs.text_safety import replace_invisible
from biasgrid.warehouse.build.sql_quoting import quote
from biasgrid.warehouse.expectations.expectation import Between, Expectation, OneOf, Rows, Suite

EXAMPLES = 5
"""Number of example rows per failed expectation."""
VALUES = 50
"""Maximum number of values of a column that are passed on, unexpected ones first."""
LONGEST = 160
"""Maximum length of a row's name in characters, since a damaged lake may contain anything."""

Seen = Sequence[Any]
"""For an expectation: the number of violating rows, then values, or minimum and maximum. Empty for expectations
that need more than one scan of the rows."""


Shown = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Breach:
    """Number of rows that violate an expectation, and the names of a few."""

    rows: int = 0
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        joint = ":" if self.rows == len(self.examples) else ", such as"
        return f"{self.rows:,} {'row' if self.rows == 1 else 'rows'}{joint} {'; '.join(self.examples)}"


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A table narrowed to the data that its expectations are validated by."""

    suite: Suite
    rows: int
    breaches: Mapping[str, Breach]
    """By the sentence of each expectation."""
    shown: Mapping[str, Shown]
    """By `shown_as`: the values of a column, its minimum and maximum, or the violations of a rule."""

    @property
    def judged(self) -> Iterator[Expectation]:
        """Expectations for Great Expectations; for an empty table, without those that only rows can violate."""
        return (each for each in self.suite.expectations if self.rows or isinstance(each, Rows))


def as_request(table: Narrowed) -> dict[str, Any]:
    """Request for the validation process: JSON with numbers as text, since JSON has no infinity."""
    return {
        "relation": table.suite.relation,
        "expectations": len(table.suite.expectations),
        "rules": [_as_rule(table, expectation) for expectation in table.judged],
    }


def _as_rule(table: Narrowed, expectation: Expectation) -> dict[str, Any]:
    column = shown_as(expectation)
    rule: dict[str, Any] = {"column": column, "sentence": expectation.sentence, "shown": table.shown[column]}
    if isinstance(expectation, OneOf):
        rule["values"] = expectation.values
    if isinstance(expectation, Between):
        rule |= {"low": expectation.low, "high": expectation.high}
        rule["shown"] = [None if number is None else str(number) for number in table.shown[column]]
    return rule | {"rows": table.breaches[expectation.sentence].rows}


def narrow_table(session: duckdb.DuckDBPyConnection, suite: Suite) -> Narrowed:
    """Evaluates all row-level expectations in one scan, then the others by queries of their own."""
    rows, seen = _looked_through(session, suite)
    breaches, shown = {}, {}
    for expectation, own in zip(suite.expectations, seen, strict=True):
        breach = _breach(session, suite, expectation, own)
        breaches[expectation.sentence] = breach
        shown[shown_as(expectation)] = _shown_values(expectation, own, breach)
    return Narrowed(suite, rows, breaches, shown)


def shown_as(expectation: Expectation) -> str:
    """The column of the narrowed table for an expectation."""
    return expectation.column if isinstance(expectation, OneOf | Between) else expectation.sentence


def _looked_through(session: duckdb.DuckDBPyConnection, suite: Suite) -> tuple[int, list[Seen]]:
    measures = [_measures(expectation) for expectation in suite.expectations]
    listed = ", ".join(["count(*)", *(measure for own in measures for measure in own)])
    found = iter(session.execute(f"select {listed} from {suite.relation}").fetchall()[0])
    return next(found), [list(islice(found, len(own))) for own in measures]


def _measures(expectation: Expectation) -> list[str]:
    if isinstance(expectation, Rows):
        return []
    broken = f"count(*) filter (where {expectation.broken})"
    if isinstance(expectation, OneOf):
        return [broken, f"array_agg(distinct {quote(expectation.column)})"]
    if isinstance(expectation, Between):
        return [broken, f"min({expectation.number})", f"max({expectation.number})"]
    return [broken]


def _breach(session: duckdb.DuckDBPyConnection, suite: Suite, expectation: Expectation, seen: Seen) -> Breach:
    if isinstance(expectation, Rows):
        session.execute(f"create or replace table lake.doubted as {expectation.doubted}")
        if not session.execute("from lake.doubted limit 1").fetchall():
            return Breach()
        return _name_rows(session, expectation.rows, expectation.ids)
    if not seen[0]:
        return Breach()
    return _name_rows(session, f"from {suite.relation} where {expectation.broken}", suite.ids)


def _name_rows(session: duckdb.DuckDBPyConnection, rows: str, ids: Iterable[str]) -> Breach:
    name = f"concat_ws(' · ', {', '.join(map(quote, ids))})"
    names = f"with broken as materialized (select {name} as name from ({rows}))"
    some = f"(from broken order by name limit {EXAMPLES})"
    found = session.execute(f"{names} select (select count(*) from broken), (select list(name) from {some})")
    count, examples = found.fetchall()[0]
    return Breach(count, tuple(map(_readable, examples or ())))


def _readable(name: str) -> str:
    """A row's name without terminal control characters."""
    return replace_invisible(name[:LONGEST])


def _shown_values(expectation: Expectation, seen: Seen, breach: Breach) -> Shown:
    if isinstance(expectation, OneOf):
        values = [value for value in seen[1] or () if value is not None]
        unknown_first = sorted(values, key=lambda value: (value in expectation.values, value))
        return [_readable(value) for value in unknown_first[:VALUES]]
    if isinstance(expectation, Between):
        return [_number(seen[1]), _number(seen[2])]
    return [str(breach)] if breach.rows else []


def _number(value: float | None) -> float | None:
    # pandas treats NaN as missing; minus infinity is below every range and thus a violation
    return -math.inf if value is not None and math.isnan(value) else value
