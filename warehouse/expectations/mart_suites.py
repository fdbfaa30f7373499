"""What is expected of the marts: what their YAML files say, and what they must hold of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from biasgrid.warehouse.build.model_tests import RowTest, row_tests
from biasgrid.warehouse.build.models import Column, Model, load_models
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

COUNTED = (
    "answers",
    "cases",
    "cells",
    "choices",
    "instances",
    "items",
    "languages",
    "pairs",
    "people",
    "plays",
    "prompts",
    "replies",
    "requests",
    "runs",
    "samples",
    "scenes",
    "sessions",
    "tasks",
    "templates",
    "tests",
    "tokens",
    "trials",
    "turns",
)
RANGES: Mapping[str, tuple[float, float | None]] = {
    "share, 0–1": (0, 1),
    "share of the scale, 0–1": (0, 1),
    "share, −1–1": (-1, 1),
    "−1 to 1": (-1, 1),
    "−1 against the stereotype, 0 none, 1 with it": (-1, 1),
    "−1 against every stereotype to 1 with every stereotype": (-1, 1),
    "difference of scores, −2–2": (-2, 2),
    "score": (0, None),
    "US dollars": (0, None),
    "s": (0, None),
    "ms": (0, None),
    **dict.fromkeys(COUNTED, (0, None)),
}
"""Least and greatest number of each unit that the YAML files name."""
REFERENCES = (
    (("run_id",), "staging.stg_runs"),
    (("run_id", "cell_id"), "staging.stg_planned_cells"),
    (("run_id", "evaluation_id"), "staging.stg_criteria"),
    (("run_id", "requirement"), "staging.stg_planned_cells"),
)
"""Columns of marts, and where what they name must be."""
COMPLETE = {
    "marts.pass_rates": ("run_id", "cell_id"),
    "marts.requirement_findings": ("run_id", "requirement", "model"),
    "marts.language_findings": ("run_id", "requirement", "model", "language"),
}
"""Marts with a row for whatever has planned cases, and what that is."""


def mart_suites() -> Iterator[Suite]:
    """One of every mart."""
    for model in load_models():
        if model.schema == "marts":
            yield Suite(model.relation, model.about.grain, tuple(_expected(model)))


def _expected(model: Model) -> Iterator[Expectation]:
    yield unique(model.relation, model.about.grain)
    yield from (of_column(name, column) for name, column in model.about.columns.items() if column.accepted)
    yield from in_range(model.about.columns)
    # accepted values stand above, as values and not as a rule
    yield from (RowRule(test.name, test.broken) for test in row_tests(model) if not _is_of_values(model, test))
    if {"interval_low", "macro_rate", "interval_high"} <= model.about.columns.keys():
        yield RowRule("the interval has two ends, the lower one below", "interval_low > interval_high")
    yield from _references(model)
    if model.relation in COMPLETE:
        yield _complete(model.relation, COMPLETE[model.relation])


def of_column(name: str, column: Column) -> OneOf:
    """The values that a column may hold."""
    return OneOf(name, column.accepted)


def in_range(columns: Mapping[str, Column]) -> Iterator[Between]:
    """The ranges that units stand for."""
    for name, column in columns.items():
        if column.unit in RANGES and not column.accepted:
            yield Between(name, *RANGES[column.unit])


def _is_of_values(model: Model, test: RowTest) -> bool:
    return any(test.name.startswith(f"{name} is one of ") for name in model.about.columns)


def _references(model: Model) -> Iterator[Rows]:
    for columns, to in REFERENCES:
        if set(columns) <= model.about.columns.keys():
            yield referring(model.relation, model.about.grain, columns, to)


def _complete(relation: str, key: tuple[str, ...]) -> Rows:
    listed = ", ".join(key)
    planned = f"select distinct {listed} from staging.stg_planned_cells where planned_cases > 0"  # noqa: S608
    missing = f"from ({planned}) anti join {relation} using ({listed})"
    return Rows(f"a row for each planned {' × '.join(key)}", missing, key)
