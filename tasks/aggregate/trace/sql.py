"""The SQL that made findings, of one run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from biasgrid.tasks.aggregate.trace.trace import Trace
from biasgrid.warehouse.build.sql_quoting import literal
from biasgrid.warehouse.queries.lineage import script

FINDINGS, CELLS, DELTAS = "marts.requirement_findings", "marts.pass_rates", "marts.deltas"
TESTS = "staging.stg_template_tests"


def finding_sql(found: Trace) -> str:
    """A script for DuckDB that builds what the findings of a trace are read from, of its run, and ends with the
    rows of these findings, cells and template tests."""
    findings, cells, tests = found.findings, found.cell_rows, found.test_rows
    asked = {
        FINDINGS: _rows(FINDINGS, ("requirement", "model"), findings),
        CELLS: _rows(CELLS, ("cell_id",), cells),
        TESTS: _rows(TESTS, ("cell_id", "template_id", "sample"), tests),
        DELTAS: _rows(DELTAS, ("cell_id", "template_id", "sample"), _compared(tests)),
    }
    selects = {relation: select for relation, select in asked.items() if select}
    return script(selects, found.origin.run_id, selects.values())


def _compared(tests: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [test for test in tests if test["oracle_type"] == "same value"]


def _rows(relation: str, keys: tuple[str, ...], found: Iterable[Mapping[str, Any]]) -> str:
    units = [", ".join(_value(row[key]) for key in keys) for row in found]
    if not units:
        return ""
    listed = ",\n    ".join(f"({unit})" for unit in units)
    return f"select *\nfrom {relation}\nwhere ({', '.join(keys)}) in (\n    {listed}\n)\norder by all"


def _value(value: object) -> str:
    return str(value) if isinstance(value, int) else literal(str(value))
