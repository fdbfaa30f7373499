"""What is expected of the lake's tables: their keys, what staging says of columns, how they hang together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

import sqlglot
from sqlglot import exp

from biasgrid.warehouse.build.integrity_rules import FLAWS, FLAWS_OF_CASES, Flaw, flaws_of
from biasgrid.warehouse.build.models import Column, load_models
from biasgrid.warehouse.build.sql_quoting import quoted
from biasgrid.warehouse.expectations.between_tables import IDS, TOGETHER
from biasgrid.warehouse.expectations.expectation import (
    Between,
    Expectation,
    OneOf,
    RowRule,
    Rows,
    Suite,
    referring,
    unique,
)
from biasgrid.warehouse.expectations.mart_suites import in_range, of_column
from biasgrid.warehouse.queries.dictionary import column_meanings
from biasgrid.warehouse.schemas import KEYS, OUTCOMES, SHOWN, TABLES
from biasgrid.warehouse.storage.assessments import BLIND
from biasgrid.warehouse.storage.runs import State

STATES: Mapping[str, tuple[str, ...]] = {
    "runs": get_args(State),
    "cells": ("planned", "prompted", "stopped"),
}
"""Of jobs, states are the providers' own words."""
RENAMED: Mapping[str, Mapping[str, str]] = {
    "criteria": {"refusals": "refusals_rule", "coverage": "coverage_floor"},
}
"""Columns that staging has under another name."""
LEAST: Mapping[str, Mapping[str, int]] = {
    "cases": {"sample": 1, "wording": 1},
    "responses": {"sample": 1},
    "verdicts": {"sample": 1},
}


LEVELS: Mapping[str, tuple[str, ...]] = {
    "probe": ("instance",),
    "redteam": ("instance", "session"),
    "interaction": ("assignment", "understanding"),
}
"""Of verdicts, by the kind of run; staging says which levels a benchmark's have."""
REVIEWED = ("redteam",)
"""Kinds of runs, beside benchmarks, that people review."""


def lake_suites() -> Iterator[Suite]:
    """One of every table, and of what runs of other kinds than benchmarks have in it."""
    for table in TABLES:
        yield Suite(f"lake.{table}", IDS[table], tuple(_expected(table)))
    for name, (table, kind) in SHOWN.items():
        if kind in LEVELS and (table != "assessments" or kind in REVIEWED):
            yield Suite(f"lake.{name}", IDS[table], tuple(_expected_of(name, table, kind)))


def _expected_of(name: str, table: str, kind: str) -> Iterator[Expectation]:
    relation = f"lake.{name}"
    yield unique(relation, IDS[table])
    yield from (RowRule(f"{key} is not null", f"{quoted(key)} is null") for key in KEYS[table])
    yield from (Between(column, least) for column, least in LEAST.get(table, {}).items())
    yield referring(relation, IDS[table], ("run_id",), "lake.runs")
    if table == "cells":
        yield OneOf("state", STATES[table])
    if table == "cases":
        yield referring(relation, IDS[table], ("run_id", "cell_id"), f"lake.{kind}_cells")
    if table == "verdicts":
        yield OneOf("outcome", OUTCOMES)
        yield OneOf("level", LEVELS[kind])
    if table == "assessments":
        yield OneOf("outcome", OUTCOMES[:-1])
        yield OneOf("purpose", (BLIND,))
    flaws = (flaw for flaw in flaws_of(kind) if flaw.table == table)
    yield from (_from_flaw(flaw) for flaw in flaws if _is_of_several_tables(flaw))


def _expected(table: str) -> Iterator[Expectation]:
    relation, described = f"lake.{table}", _described(table)
    yield unique(relation, IDS[table])
    yield from (RowRule(f"{name} is not null", f"{quoted(name)} is null") for name in KEYS[table])
    yield from (of_column(name, column) for name, column in described.items() if column.accepted)
    if table in STATES:
        yield OneOf("state", STATES[table])
    yield from (Between(name, least) for name, least in LEAST.get(table, {}).items())
    yield from in_range(described)
    yield from _invariants(table)
    if table != "runs":
        yield referring(relation, IDS[table], ("run_id",), "lake.runs")
    flaws = (flaw for flaw in (*FLAWS, *FLAWS_OF_CASES) if flaw.table == table)
    yield from (_from_flaw(flaw) for flaw in flaws if _is_of_several_tables(flaw))
    yield from TOGETHER.get(table, ())


def _described(table: str) -> Mapping[str, Column]:
    """The columns as staging describes them, under the lake's names."""
    staged = column_meanings(table)
    for model in load_models():
        if model.relation == f"staging.stg_{table}":
            staged |= {ours: model.about.columns[its] for ours, its in RENAMED.get(table, {}).items()}
    return staged


def _invariants(table: str) -> Iterator[RowRule]:
    """Those of the staging model that speak of nothing but columns of the lake."""
    for model in load_models():
        if model.relation == f"staging.stg_{table}":
            for sentence, sql in model.about.invariants.items():
                if _columns(sql) <= set(TABLES[table].names):
                    yield RowRule(sentence, f"({sql}) is not true")


def _columns(sql: str) -> set[str]:
    return {column.name for column in sqlglot.parse_one(sql, dialect="duckdb").find_all(exp.Column)}


def _is_of_several_tables(flaw: Flaw) -> bool:
    """What a table alone can tell is expected above, and more strictly."""
    return bool(flaw.lacking_to) or "anti join" in flaw.rows


def _from_flaw(flaw: Flaw) -> Rows:
    return Rows(f"never: {flaw.what}", flaw.rows, ("run_id", flaw.id), flaw.doubted)
