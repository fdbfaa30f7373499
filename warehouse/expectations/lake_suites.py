"""What is expected of the lake's tables: their keys, what staging says of columns, how they hang together."""

# ruff: noqa: S608 - names from our own schemas

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

import sqlglot
from sqlglot import exp

from warehouse.expectations.expectation import Between, Expectation, OneOf, RowRule, Rows, Suite, referring, unique
from warehouse.expectations.mart_suites import in_range, of_column
from warehouse.flaws import FLAWS, Flaw
from warehouse.lake_columns import column_meanings
from warehouse.runs import State
from warehouse.schemas import EVENTS, KEYS, TABLES, UNITS
from warehouse.sql_models import Column, load_models
from warehouse.sql_words import quoted

IDS: Mapping[str, tuple[str, ...]] = {
    **{table: (*key, "event_id") for table, key in EVENTS.items()},
    "cases": UNITS["cases"],
    "responses": ("run_id", "response_id"),
    "criteria": ("run_id", "evaluation_id", "requirement"),
    "verdicts": ("run_id", "verdict_id"),
}
"""What a row of each table has to itself."""
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

_ENDED = """
    select run_id
    from lake.runs
    group by run_id
    having arg_max(state, event_id) in ('aggregating', 'completed', 'incomplete')
"""
_PROMPTED = f"""
    select run_id, cell_id
    from lake.cells
    semi join ({_ENDED}) using (run_id)
    group by run_id, cell_id
    having arg_max(state, event_id) = 'prompted'
"""
_PERHAPS_UNANSWERED = f"""
    with asked as (
        select run_id, cell_id, sum(hash(case_id)) as cases from lake.cases group by all
    ),

    heard as (
        select run_id, cell_id, sum(hash(case_id)) as cases
        from lake.responses
        where purpose = 'subject'
        group by all
    )

    select run_id, cell_id
    from asked
    semi join ({_PROMPTED}) using (run_id, cell_id)
    left join heard using (run_id, cell_id)
    where asked.cases is distinct from heard.cases
"""
_UNANSWERED = """
    select run_id, cell_id, case_id
    from (from lake.cases semi join lake.doubted using (run_id, cell_id))
    anti join (
        select run_id, cell_id, case_id
        from lake.responses
        semi join lake.doubted using (run_id, cell_id)
        where purpose = 'subject'
    ) using (run_id, cell_id, case_id)
"""
_UNASKED = """
    select run_id, response_id
    from (from lake.responses semi join lake.doubted using (run_id, cell_id))
    anti join (from lake.cases semi join lake.doubted using (run_id, cell_id)) using (run_id, cell_id, case_id)
    where purpose = 'subject'
"""
_PERHAPS_UNASKED = """
    with asked as (
        select run_id, cell_id, sum(hash(case_id)) as cases from lake.cases group by all
    ),

    heard as (
        select run_id, cell_id, sum(hash(case_id)) as cases
        from lake.responses
        where purpose = 'subject'
        group by all
    )

    select run_id, cell_id
    from heard
    left join asked using (run_id, cell_id)
    where asked.cases is distinct from heard.cases
"""
_PARTS = "requirement, language, input, reflection"
_ABSENT_CELLS = f"""
    with models as (
        select distinct run_id, model from lake.cells
    ),

    parts as (
        select distinct run_id, {_PARTS} from lake.cells
    )

    select run_id, model, {_PARTS}
    from models
    inner join parts using (run_id)
    anti join lake.cells using (run_id, model, {_PARTS})
"""
_SUPERSEDING_NOTHING = """
    select run_id, verdict_id
    from (from lake.verdicts where supersedes is not null) as later
    anti join lake.verdicts as earlier
        on later.run_id = earlier.run_id and later.supersedes = earlier.verdict_id
"""


def lake_suites() -> Iterator[Suite]:
    """One of every table."""
    for table in TABLES:
        yield Suite(f"lake.{table}", IDS[table], tuple(_expected(table)))


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
    yield from (_from_flaw(flaw) for flaw in FLAWS if flaw.table == table and _is_of_several_tables(flaw))
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
    return flaw.is_absence or "anti join" in flaw.rows


def _from_flaw(flaw: Flaw) -> Rows:
    return Rows(f"never: {flaw.what}", flaw.rows, ("run_id", flaw.id), flaw.doubted)


TOGETHER: Mapping[str, tuple[Expectation, ...]] = {
    "runs": (RowRule("a run ends after it began", "ended_at < started_at"),),
    "cells": (
        RowRule("no more is answered than was planned", "answered + reused + failed > planned"),
        Rows("every model of a run has the same cells", _ABSENT_CELLS, ("run_id", "model", *_PARTS.split(", "))),
    ),
    "cases": (referring("lake.cases", IDS["cases"], ("run_id", "cell_id"), "lake.cells"),),
    "responses": (
        RowRule("a reply has a text, or a reason why there is none", "text is null and error_class is null"),
        Rows("every response answers a case", _UNASKED, IDS["responses"], _PERHAPS_UNASKED),
        Rows(
            "every case of a prompted cell has a reply or a failure",
            _UNANSWERED,
            ("run_id", "cell_id", "case_id"),
            _PERHAPS_UNANSWERED,
        ),
    ),
    "verdicts": (
        unique("lake.verdicts", UNITS["verdicts"], "supersedes is null", "one verdict per judged unit"),
        Rows("a verdict that is superseded is there", _SUPERSEDING_NOTHING, IDS["verdicts"]),
    ),
}
