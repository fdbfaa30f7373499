"""Every table has a suite, made of what its schema and its YAML file say."""

import pytest

from biasgrid.warehouse.build.models import load_models
from biasgrid.warehouse.expectations.expectation import Between, OneOf, RowRule, Rows, Suite
from biasgrid.warehouse.expectations.suites import all_suites, unit_ranges
from biasgrid.warehouse.schemas import KEYS, OUTCOMES, SHOWN, TABLES

MARTS = [model for model in load_models() if model.schema == "marts"]
NEVER_REVIEWED = ("probe_assessments", "interaction_assessments", "audit_assessments")
OTHERS = {name: table for name, (table, _) in SHOWN.items() if name != table and name not in NEVER_REVIEWED}
"""Relations of runs other than benchmarks, and their tables."""
UNBOUNDED = {"", "the template's scale", "share", "D", "points", "logarithm"}
UNBOUNDED |= {"points, or a logarithm", "points, or a ratio"}
"""Units without bounds."""


def suite(relation: str) -> Suite:
    return next(suite for suite in all_suites() if suite.relation == relation)


def sentences(relation: str) -> set[str]:
    return {expectation.sentence for expectation in suite(relation).expectations}


def test_every_table_of_the_lake_and_every_mart_has_one_suite():
    relations = [suite.relation for suite in all_suites()]
    tables = [*TABLES, *OTHERS]
    assert relations == [f"lake.{table}" for table in tables] + [model.relation for model in MARTS]


@pytest.mark.parametrize("found", all_suites(), ids=lambda suite: suite.relation)
def test_no_two_expectations_of_a_table_are_judged_by_the_same_values(found):
    shown = [each.column if isinstance(each, OneOf | Between) else each.sentence for each in found.expectations]
    assert len(shown) == len(set(shown))


@pytest.mark.parametrize("table", TABLES)
def test_keys_of_the_lake_are_never_null_and_rows_are_unique(table):
    found = sentences(f"lake.{table}")
    assert {f"{key} is not null" for key in KEYS[table]} <= found
    assert any(sentence.startswith("one row per run_id × ") for sentence in found)


@pytest.mark.parametrize(("name", "table"), OTHERS.items(), ids=list(OTHERS))
def test_keys_of_probes_and_red_teams_are_never_null_and_hang_together(name, table):
    found = sentences(f"lake.{name}")
    assert {f"{key} is not null" for key in KEYS[table]} <= found
    assert "run_id is there in lake.runs" in found
    if table == "verdicts":
        assert "never: the case that was judged is not there" in found
        assert "never: the response that was judged is not there" in found
        assert OneOf("outcome", OUTCOMES) in suite(f"lake.{name}").expectations


@pytest.mark.parametrize("model", MARTS, ids=lambda model: model.name)
def test_a_marts_yaml_is_expected_of_it(model):
    about = model.about  # type: ignore[attr-defined]
    found = suite(model.relation).expectations  # type: ignore[attr-defined]
    listed = {each.sentence for each in found}
    assert f"one row per {' × '.join(about.grain)}" in listed
    assert {f"{name} is not null" for name, column in about.columns.items() if column.not_null} <= listed
    assert set(about.invariants) <= listed
    accepted = {name: column.accepted for name, column in about.columns.items() if column.accepted}
    assert {each.column: each.values for each in found if isinstance(each, OneOf)} == accepted


def test_every_unit_has_a_range_or_is_known_to_have_none():
    units = {column.unit for model in MARTS for column in model.about.columns.values()}
    assert units - unit_ranges().keys() - UNBOUNDED == set()


@pytest.mark.parametrize("name", ["tolerance", "delta", "max_refusals", "coverage"])
def test_the_lakes_shares_lie_between_0_and_1(name):
    assert Between(name, 0, 1) in suite("lake.criteria").expectations


def test_outcomes_states_purposes_and_levels_are_enumerated():
    enumerated = {
        (suite.relation, each.column): each.values
        for suite in all_suites()
        for each in suite.expectations
        if isinstance(each, OneOf)
    }
    assert enumerated["lake.verdicts", "outcome"] == OUTCOMES
    assert enumerated["lake.verdicts", "level"] == ("instance", "template")
    assert "interrupted" in enumerated["lake.runs", "state"]
    assert "subject" in enumerated["lake.responses", "purpose"]
    assert enumerated["lake.criteria", "refusals"] == ("separate", "fail", "pass")
    assert enumerated["marts.pass_rates", "decision"] == ("met", "not met", "undecided", "not evaluated")


def test_tables_refer_to_each_other():
    across = {(suite.relation, each.sentence) for suite in all_suites() for each in suite.expectations}
    assert ("lake.cases", "run_id × cell_id is there in lake.cells") in across
    assert ("lake.verdicts", "never: the response that was judged is not there") in across
    assert ("lake.verdicts", "a verdict that is superseded is there") in across
    assert ("marts.pass_rates", "run_id × cell_id is there in intermediate.int_planned_cells") in across


def test_kinds_are_what_sql_can_narrow():
    kinds = {type(each) for suite in all_suites() for each in suite.expectations}
    assert kinds == {OneOf, Between, RowRule, Rows}
