"""From any id to requirement, template, prompt, response, verdict and finding, and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb
import orjson
import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.tasks.aggregate.trace import queries as asking
from biasgrid.tasks.aggregate.trace.kinds import Kind
from biasgrid.tasks.aggregate.trace.origin import Origin, find_origin
from biasgrid.warehouse.build.build import connect, run_row, selected
from biasgrid.warehouse.build.text_views import ALL, reading_texts
from biasgrid.warehouse.storage.lake import Lake

Rows = list[dict[str, Any]]

CELLS = 12
"""An id that leads to more cells than this is told with the cells of its examples alone."""
TESTS = 12
OF_RUN = ("run_id", "kind", "state", "seed", "started_at", "ended_at")


@dataclass(frozen=True, slots=True)
class Trace:
    """What an id leads to in one run. Rows are those of the marts and staging models, with their columns."""

    origin: Origin
    run: dict[str, Any]
    prompts: int
    tests: int
    cells: int
    outcomes: dict[str, int]
    """Of the tests that it leads to."""
    stands_in: int
    """For how many further prompts a response was used again."""
    findings: Rows
    cell_rows: Rows
    """All cells, or those of the examples where there are many."""
    test_rows: Rows
    """All template tests, or those of the examples where there are many."""
    cases: Rows
    """Prompts, each with its `responses`, its `verdicts`, those that no longer count too (`stands`: false), and
    its `assessments` by judges and people."""
    tests_by_cell: dict[str, dict[str, int]]
    """Outcomes of the tests that it leads to, by cell."""
    cells_by_finding: Rows
    """requirement, model, point_finding: in how many of the cells that it leads to."""

    @property
    def is_whole(self) -> bool:
        """Whether every prompt that it leads to is shown."""
        return len(self.cases) == self.prompts

    def as_json(self, sql: str | None = None) -> str:
        """One object: `asked`, `run`, `in_scope`, lists of findings, cells, tests and cases, and `sql` if any."""
        report = {
            "asked": {"kind": self.origin.kind, "id": self.origin.id, "other_runs": self.origin.other_runs},
            "run": self.run,
            "in_scope": {
                "prompts": self.prompts,
                "tests": self.tests,
                "cells": self.cells,
                "outcomes": self.outcomes,
                "prompts_shown": len(self.cases),
            },
            "findings": self.findings,
            "cells": self.cell_rows,
            "tests": self.test_rows,
            "cases": self.cases,
        }
        told = report | ({"sql": sql} if sql else {})
        return orjson.dumps(told, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def trace(
    lake: Lake,
    asked: str,
    *,
    kind: Kind | None = None,
    run_id: str | None = None,
    model: str | None = None,
    examples: int = 3,
) -> Trace:
    """Where an id leads, of a run (the newest that knows it) and a model (every one that it leads to).

    At most so many `examples` of prompts are read, those first that did not pass, of different cells. Raises
    UserError for an id that is unknown or may be several, and for a run or model that it does not lead to.
    """
    with connect(lake, texts_of=ALL) as warehouse, reading_texts():
        origin = find_origin(warehouse, lake, asked, kind, run_id)
        _scope(warehouse, origin, model)
        warehouse.execute(asking.EXAMPLES, {"examples": examples})
        return _read(warehouse, lake, origin)


def _scope(warehouse: duckdb.DuckDBPyConnection, origin: Origin, model: str | None) -> None:
    parameters = {"run_id": origin.run_id, **origin.parameters}
    if model is None:
        warehouse.execute(asking.SCOPE.format(where=origin.where, model=""), parameters)
        return
    everyone = "select distinct model from staging.stg_cases where run_id = $run_id and ({where})"
    known = list(selected(warehouse, everyone.format(where=origin.where), parameters)["model"])
    if model not in known:
        what = f"{origin.kind} `{origin.id}` leads to no prompt of `{model}`"
        raise UserError(Problem(what, "--model", nearest(model, known)))
    scope = asking.SCOPE.format(where=origin.where, model=" and model = $model")
    warehouse.execute(scope, {**parameters, "model": model})


def _read(warehouse: duckdb.DuckDBPyConnection, lake: Lake, origin: Origin) -> Trace:
    size = selected(warehouse, asking.IN_SCOPE).row(0, named=True)
    return Trace(
        origin=origin,
        run={name: value for name, value in run_row(lake, origin.run_id).items() if name in OF_RUN},
        **size,
        outcomes=dict(selected(warehouse, asking.OUTCOMES).iter_rows()),
        stands_in=selected(warehouse, asking.STANDS_IN, {"id": origin.id}).item()
        if origin.kind == "response"
        else 0,
        findings=_rows(warehouse, asking.FINDINGS),
        cell_rows=_rows(warehouse, asking.CELLS.format(wanted=_wanted(size["cells"], CELLS))),
        test_rows=_rows(warehouse, asking.TESTS.format(wanted=_wanted(size["tests"], TESTS))),
        cases=_cases(warehouse, lake, origin.run_id),
        cells_by_finding=_rows(warehouse, asking.CELLS_BY_FINDING),
        tests_by_cell=_by_cell(selected(warehouse, asking.BY_CELL)),
    )


def _wanted(count: int, most: int) -> str:
    return "scope" if count <= most else "examples"


def _rows(warehouse: duckdb.DuckDBPyConnection, sql: str) -> Rows:
    return selected(warehouse, sql).to_dicts()


def _by_cell(counted: pl.DataFrame) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for cell_id, outcome, count in counted.iter_rows():
        found.setdefault(cell_id, {})[outcome] = count
    return found


def _cases(warehouse: duckdb.DuckDBPyConnection, lake: Lake, run_id: str) -> Rows:
    cases = selected(warehouse, asking.CASES)
    responses = _of_case(_rows(warehouse, asking.RESPONSES))
    verdicts = _of_case(_verdicts(warehouse, lake, run_id, cases).to_dicts())
    assessments = _of_case(_rows(warehouse, asking.ASSESSMENTS))
    return [
        case
        | {
            "responses": responses.get(key, []),
            "verdicts": verdicts.get(key, []),
            "assessments": assessments.get(key, []),
        }
        for case in cases.to_dicts()
        for key in [(case["cell_id"], case["case_id"])]
    ]


def _verdicts(warehouse: duckdb.DuckDBPyConnection, lake: Lake, run_id: str, cases: pl.DataFrame) -> pl.DataFrame:
    """Every verdict on these cases, in the order in which they were given: those that stand, and from the lake
    those that a later one or a later evaluation replaced."""
    standing = selected(warehouse, asking.STANDING).with_columns(stands=True)
    landed = lake.scan("verdicts", run_id).filter(pl.col("level") == "instance")
    of_cases = landed.filter(
        pl.col("case_id").is_in(cases["case_id"].implode()),
    ).collect()
    mine = of_cases.join(cases, on=["cell_id", "case_id"], how="semi")
    replaced = mine.join(standing, on="verdict_id", how="anti").with_columns(stands=False)
    return pl.concat([standing, replaced.select(standing.columns)], how="vertical_relaxed").sort(
        "evaluation_id", "judged_at", "verdict_id"
    )


def _of_case(found: Iterable[dict[str, Any]]) -> dict[tuple[str, str], Rows]:
    by_case: dict[tuple[str, str], Rows] = {}
    for row in found:
        by_case.setdefault((row["cell_id"], row["case_id"]), []).append(row)
    return by_case


def _plain(value: object) -> float:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"`{type(value).__name__}` has no place in a trace")
