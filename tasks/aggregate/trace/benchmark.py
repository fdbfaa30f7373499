"""Traces of benchmarks: from any id to requirement, template, prompt, response, verdict and finding, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import orjson
import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.tasks.aggregate.trace import Kind, queries
from biasgrid.tasks.aggregate.trace.origin import Origin, OtherOrigin, find_origin
from biasgrid.warehouse.build.build import connect, fetch_rows, run_row
from biasgrid.warehouse.build.text_views import ALL, reading_texts
from biasgrid.warehouse.queries.lineage import script
from biasgrid.warehouse.storage.export_files import as_number
from biasgrid.warehouse.storage.lake import Lake

Rows = list[dict[str, Any]]

MAX_UNITS = 12
"""Most cells, and most tests, that are all listed; beyond that only those of the examples."""
OF_RUN = ("run_id", "kind", "state", "seed", "started_at", "ended_at")


@dataclass(frozen=True, slots=True)
class Trace:
    """What an id of a benchmark leads to in one run: rows of marts and staging models, with their columns."""

    origin: Origin
    run: dict[str, Any]
    prompts: int
    tests: int
    cells: int
    outcomes: dict[str, int]
    """Tests by outcome, the most frequent first."""
    stands_in: int
    """Number of further prompts that reuse a response."""
    findings: Rows
    cell_rows: Rows
    """All cells, or those of the examples where there are many."""
    test_rows: Rows
    """All template tests, or those of the examples where there are many."""
    cases: Rows
    """Prompts, each with its `responses`, all its `verdicts` (`stands`: false for replaced ones), and its
    `assessments` by judges and people."""
    tests_by_cell: dict[str, dict[str, int]]
    """Tests by cell and outcome."""
    cells_by_finding: Rows
    """requirement, model, point_finding, cells: how many cells have it."""

    @property
    def is_whole(self) -> bool:
        """Whether every prompt in scope is shown."""
        return len(self.cases) == self.prompts

    def as_json(self, sql: str | None = None) -> str:
        """One object: `asked`, `run`, `in_scope`, lists of findings, cells, tests and cases, and `sql` if any."""
        scope = {name: getattr(self, name) for name in ("prompts", "tests", "cells", "outcomes")}
        lists = {"findings": self.findings, "cells": self.cell_rows, "tests": self.test_rows, "cases": self.cases}
        return render_json(self.origin, self.run, scope | {"prompts_shown": len(self.cases)}, lists, sql)

    def as_sql(self) -> str:
        """A DuckDB script that builds the findings, cells and template tests of the trace from the lake's rows
        of its run, and selects them."""
        by_test = ("cell_id", "template_id", "sample")
        compared = [test for test in self.test_rows if test["oracle_type"] == "same value"]
        asked: tuple[tuple[str, tuple[str, ...], Rows], ...] = (
            ("marts.requirement_findings", ("requirement", "model"), self.findings),
            ("marts.pass_rates", ("cell_id",), self.cell_rows),
            ("intermediate.int_template_tests", by_test, self.test_rows),
            ("marts.deltas", by_test, compared),
        )
        selects = {
            relation: queries.select_rows(relation, names, [[row[name] for name in names] for row in rows])
            for relation, names, rows in asked
            if rows
        }
        return script(selects, self.origin.run_id, selects.values())


def render_json(
    origin: Any, run: Mapping[str, Any], scope: Mapping[str, Any], lists: Mapping[str, Any], sql: str | None
) -> str:
    """A trace as one JSON object: `asked`, `run`, `in_scope`, these lists, and `sql` if any."""
    asked = {"kind": origin.kind, "id": origin.id, "other_runs": origin.other_runs}
    report = {"asked": asked, "run": run, "in_scope": scope, **lists} | ({"sql": sql} if sql else {})
    option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(report, default=as_number, option=option).decode()


def render_units(origin: OtherOrigin, what: str, found: Sequence[object]) -> str:
    """The same of a run of another kind: of all sessions, plays or decisions (`what`), those listed."""
    run = {name: getattr(origin.run, name) for name in ("run_id", "kind", "state")}
    return render_json(origin, run, {what: len(origin.case_ids)}, {what: found}, None)


def trace(
    lake: Lake,
    asked: str,
    *,
    kind: Kind | None = None,
    run_id: str | None = None,
    model: str | None = None,
    examples: int = 3,
) -> Trace:
    """The trace of an id in one run (by default the newest that has it), of one model or of all.

    It holds at most `examples` prompts, of different cells, those that did not pass first. Raises UserError for an
    unknown or ambiguous id, and for a run or model without it.
    """
    with connect(lake, texts_of=ALL) as warehouse, reading_texts():
        origin = find_origin(warehouse, lake, asked, kind, run_id)
        _create_scope(warehouse, origin, model)
        warehouse.execute(queries.EXAMPLES, {"examples": examples})
        return _read_trace(warehouse, lake, origin)


def _create_scope(warehouse: duckdb.DuckDBPyConnection, origin: Origin, model: str | None) -> None:
    parameters = {"run_id": origin.run_id, **origin.parameters}
    if model is None:
        warehouse.execute(queries.SCOPE.format(where=origin.where, model=""), parameters)
        return
    known = list(fetch_rows(warehouse, queries.MODELS.format(where=origin.where), parameters)["model"])
    if model not in known:
        what = f"{origin.kind} `{origin.id}` leads to no prompt of `{model}`"
        raise UserError(Problem(what, "--model", nearest(model, known)))
    scope = queries.SCOPE.format(where=origin.where, model=" and model = $model")
    warehouse.execute(scope, {**parameters, "model": model})


def _read_trace(warehouse: duckdb.DuckDBPyConnection, lake: Lake, origin: Origin) -> Trace:
    def rows(sql: str, units: int = 0) -> Rows:
        return fetch_rows(warehouse, sql.format(wanted="scope" if units <= MAX_UNITS else "examples")).to_dicts()

    size = fetch_rows(warehouse, queries.IN_SCOPE).row(0, named=True)
    by_cell: dict[str, dict[str, int]] = {}
    outcomes = Counter[str]()
    for cell_id, outcome, count in fetch_rows(warehouse, queries.BY_CELL).iter_rows():
        by_cell.setdefault(cell_id, {})[outcome] = count
        outcomes[outcome] += count
    reuses = fetch_rows(warehouse, queries.STANDS_IN, {"id": origin.id}).item() if origin.kind == "response" else 0
    return Trace(
        origin=origin,
        run={name: value for name, value in run_row(lake, origin.run_id).items() if name in OF_RUN},
        **size,
        outcomes=dict(sorted(outcomes.items(), key=lambda counted: (-counted[1], counted[0]))),
        stands_in=reuses,
        findings=rows(queries.FINDINGS),
        cell_rows=rows(queries.CELLS, size["cells"]),
        test_rows=rows(queries.TESTS, size["tests"]),
        cases=_read_cases(warehouse, lake, origin.run_id),
        cells_by_finding=rows(queries.CELLS_BY_FINDING),
        tests_by_cell=by_cell,
    )


def _read_cases(warehouse: duckdb.DuckDBPyConnection, lake: Lake, run_id: str) -> Rows:
    cases = fetch_rows(warehouse, queries.CASES)
    parts = {
        "responses": fetch_rows(warehouse, queries.RESPONSES),
        "verdicts": _all_verdicts(warehouse, lake, run_id, cases),
        "assessments": fetch_rows(warehouse, queries.ASSESSMENTS),
    }
    by_case = {name: rows_by_key(rows, "cell_id", "case_id") for name, rows in parts.items()}
    return [
        case | {name: rows.get((case["cell_id"], case["case_id"]), []) for name, rows in by_case.items()}
        for case in cases.to_dicts()
    ]


def rows_by_key(found: pl.DataFrame, *names: str) -> dict[tuple[Any, ...], Rows]:
    """Rows by the values of these columns, in their order."""
    return {key: own.to_dicts() for key, own in found.group_by(*names, maintain_order=True)}


def _all_verdicts(
    warehouse: duckdb.DuckDBPyConnection, lake: Lake, run_id: str, cases: pl.DataFrame
) -> pl.DataFrame:
    """Every verdict on these cases, oldest first: those that count, and from the lake those that were replaced."""
    standing = fetch_rows(warehouse, queries.STANDING).with_columns(stands=True)
    landed = lake.scan("verdicts", run_id).filter(pl.col("level") == "instance")
    of_cases = landed.filter(pl.col("case_id").is_in(cases["case_id"].implode())).collect()
    own = of_cases.join(cases, on=["cell_id", "case_id"], how="semi")
    replaced = own.join(standing, on="verdict_id", how="anti").with_columns(stands=False)
    return pl.concat([standing, replaced.select(standing.columns)], how="vertical_relaxed").sort(
        "evaluation_id", "judged_at", "verdict_id"
    )
