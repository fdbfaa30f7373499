"""Exports the suites of all lake tables and marts from schemas, models' YAML and `rules.yml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

from pydantic import Field

from biasgrid.catalogs.schema.base import Frozen
from biasgrid.warehouse.build.integrity import Flaw, flaws_of_kind, load_integrity
from biasgrid.warehouse.build.model_tests import row_tests
from biasgrid.warehouse.build.models import Column, Model, load_models, read_yaml
from biasgrid.warehouse.build.sql_quoting import quote
from biasgrid.warehouse.build.sql_syntax import parse_selects
from biasgrid.warehouse.expectations.expectation import (
    Between,
    Expectation,
    OneOf,
    RowRule,
    Rows,
    Suite,
    expect_reference,
    unique,
)
from biasgrid.warehouse.queries.dictionary import column_meanings, staging_model
from biasgrid.warehouse.schemas import EVENTS, KEYS, OTHER_KINDS, SHOWN, TABLES, UNITS


class Reference(Frozen):
    """The values of these columns exist in columns of the same names in `to`."""

    columns: tuple[str, ...]
    to: str
    except_for: tuple[str, ...] = ()
    """Marts that list what others name."""


class Invariant(Frozen):
    """An SQL expression that is true of every row of a mart with these columns."""

    columns: tuple[str, ...]
    sentence: str
    holds: str


class Unique(Frozen):
    """No two rows that meet `where` have the same values in these columns."""

    sentence: str
    columns: tuple[str, ...]
    where: str


class Rule(Frozen):
    """A SELECT of violations."""

    sentence: str
    ids: tuple[str, ...]
    rows: str
    doubted: str = "select true"


class LakeTable(Frozen):
    """Expectations of a lake table beyond its schema and its staging model."""

    ids: tuple[str, ...] = ()
    """Columns that identify a row; by default the key of events and their id, or the columns of `UNITS`."""
    accepted: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    accepted_of_kinds: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Allowed values in runs other than benchmarks."""
    renamed: dict[str, str] = Field(default_factory=dict)
    """Columns that have another name in the staging model."""
    least: dict[str, float] = Field(default_factory=dict)
    invariants: dict[str, str] = Field(default_factory=dict)
    references: tuple[Reference, ...] = ()
    unique: tuple[Unique, ...] = ()
    rules: tuple[Rule, ...] = ()


class Marts(Frozen):
    """Expectations of marts beyond their YAML."""

    ranges: dict[str, tuple[float] | tuple[float, float]]
    """Range by unit; without a second number the range is open."""
    counted: tuple[str, ...]
    references: tuple[Reference, ...]
    invariants: tuple[Invariant, ...]
    complete: dict[str, tuple[str, ...]]


class Rules(Frozen):
    """Contents of `warehouse/models/rules.yml`."""

    marts: Marts
    lake: dict[str, LakeTable]


@cache
def load_rules() -> Rules:
    """The shipped rules."""
    return Rules.model_validate(read_yaml(files("biasgrid.warehouse") / "models" / "rules.yml"))


@cache
def unit_ranges() -> Mapping[str, tuple[float, float | None]]:
    """Minimum and maximum of each unit in the YAML files; None: the range is open."""
    marts = load_rules().marts
    limits = {unit: (ends[0], ends[1] if len(ends) > 1 else None) for unit, ends in marts.ranges.items()}
    return limits | dict.fromkeys(marts.counted, (0, None))


@cache
def all_suites() -> tuple[Suite, ...]:
    """All suites: those of the lake, then those of the marts."""
    return (*_lake_suites(), *_mart_suites())


def _mart_suites() -> Iterator[Suite]:
    for model in load_models():
        if model.schema == "marts":
            yield Suite(model.relation, model.about.grain, tuple(_expected_of_mart(model)))


def _expected_of_mart(model: Model) -> Iterator[Expectation]:
    rules, columns = load_rules().marts, model.about.columns
    yield unique(model.relation, model.about.grain)
    yield from _of_columns(columns)
    # accepted values are expected above as values, not as a rule
    listed = {f"{name} is one of " for name in columns}
    yield from (
        RowRule(test.name, test.broken) for test in row_tests(model) if not test.name.startswith(tuple(listed))
    )
    for rule in rules.invariants:
        if set(rule.columns) <= columns.keys():
            yield _invariant(rule.sentence, rule.holds)
    for reference in rules.references:
        if set(reference.columns) <= columns.keys() and model.relation not in reference.except_for:
            yield expect_reference(model.relation, model.about.grain, reference.columns, reference.to)
    if key := rules.complete.get(model.relation):
        yield _complete(model.relation, key)


def _of_columns(columns: Mapping[str, Column]) -> Iterator[Expectation]:
    """Expectations on accepted values and on the ranges of units."""
    yield from (OneOf(name, column.accepted) for name, column in columns.items() if column.accepted)
    ranges = unit_ranges()
    for name, column in columns.items():
        if column.unit in ranges and not column.accepted:
            yield Between(name, *ranges[column.unit])


def _invariant(sentence: str, holds: str) -> RowRule:
    return RowRule(sentence, f"({holds}) is not true")


def _complete(relation: str, key: Sequence[str]) -> Rows:
    listed = ", ".join(key)
    planned = f"select distinct {listed} from intermediate.int_planned_cells where planned_cases > 0"  # noqa: S608
    missing = f"from ({planned}) anti join {relation} using ({listed})"
    return Rows(f"a row for each planned {' × '.join(key)}", missing, tuple(key))


def _lake_suites() -> Iterator[Suite]:
    """Suites of all lake tables, and of the rows of other kinds of runs."""
    for table in TABLES:
        yield Suite(f"lake.{table}", _ids(table), tuple(_expected_of_table(table)))
    for name, (table, kind) in SHOWN.items():
        if kind in OTHER_KINDS and (table != "assessments" or OTHER_KINDS[kind].is_reviewed):
            yield Suite(f"lake.{name}", _ids(table), tuple(_expected_of_kind(name, table, kind)))


def _ids(table: str) -> tuple[str, ...]:
    named = load_rules().lake[table].ids
    return named or ((*EVENTS[table], "event_id") if table in EVENTS else UNITS[table])


def _expected_of_kind(name: str, table: str, kind: str) -> Iterator[Expectation]:
    rules, relation = load_rules(), f"lake.{name}"
    yield from _keys_of(relation, table)
    yield from (OneOf(column, values) for column, values in rules.lake[table].accepted_of_kinds.items())
    if table == "verdicts":
        yield OneOf("level", OTHER_KINDS[kind].levels)
    yield from (Between(column, least) for column, least in rules.lake[table].least.items())
    yield expect_reference(relation, _ids(table), ("run_id",), "lake.runs")
    for reference in rules.lake[table].references:
        of_kind = reference.to.replace("lake.", f"lake.{kind}_")
        yield expect_reference(relation, _ids(table), reference.columns, of_kind)
    yield from _flaws(table, flaws_of_kind(kind))


def _expected_of_table(table: str) -> Iterator[Expectation]:
    relation, rules = f"lake.{table}", load_rules().lake[table]
    yield from _keys_of(relation, table)
    yield from (OneOf(column, values) for column, values in rules.accepted.items())
    yield from (Between(name, least) for name, least in rules.least.items())
    yield from _of_columns(_describe_columns(table, rules.renamed))
    yield from (_invariant(*rule) for rule in (_staged_invariants(table) | rules.invariants).items())
    if table != "runs":
        yield expect_reference(relation, _ids(table), ("run_id",), "lake.runs")
    yield from (expect_reference(relation, _ids(table), rule.columns, rule.to) for rule in rules.references)
    yield from _flaws(table, (*load_integrity().benchmarks, *load_integrity().cases))
    yield from (unique(relation, rule.columns, rule.where, rule.sentence) for rule in rules.unique)
    for rule in rules.rules:
        rows = rule.rows.replace("{cases_of_all_kinds}", _ALL_CASES)
        yield Rows(rule.sentence, rows, rule.ids, rule.doubted)


_ALL_CASES = " union all ".join(
    f"select run_id, cell_id, case_id from lake.{name}"  # noqa: S608 - names from our own schemas
    for name, (table, _) in SHOWN.items()
    if table == "cases"
)


def _keys_of(relation: str, table: str) -> Iterator[Expectation]:
    yield unique(relation, _ids(table))
    yield from (RowRule(f"{key} is not null", f"{quote(key)} is null") for key in KEYS[table])


def _describe_columns(table: str, renamed: Mapping[str, str]) -> Mapping[str, Column]:
    """The columns as described in staging, under the lake's names."""
    staged = staging_model(table)
    found = {ours: staged.about.columns[its] for ours, its in renamed.items()} if staged else {}
    return column_meanings(table) | found


def _staged_invariants(table: str) -> dict[str, str]:
    """Invariants of the staging model that read only columns of the lake."""
    staged = staging_model(table)
    invariants = staged.about.invariants if staged else {}
    parsed = parse_selects([f"select {sql}" for sql in invariants.values()])
    known = {*TABLES[table].names}
    read = dict(zip(invariants, parsed, strict=True))
    return {sentence: sql for sentence, sql in invariants.items() if read[sentence].columns <= known}


def _flaws(table: str, flaws: Sequence[Flaw]) -> Iterator[Rows]:
    """Expectations for flaws across tables; flaws within one table are covered by stricter ones above."""
    for flaw in flaws:
        if flaw.table == table and (flaw.lacking_to or "anti join" in flaw.rows):
            yield Rows(f"never: {flaw.what}", flaw.rows, ("run_id", flaw.id), flaw.doubted)
