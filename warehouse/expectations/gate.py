"""Builds a warehouse that replaces the old one only if it and the lake meet all expectations."""

from __future__ import annotations

from pathlib import Path

from biasgrid.warehouse.build.build import build, hold_build_lock
from biasgrid.warehouse.build.model_tests import ModelTestFailed
from biasgrid.warehouse.expectations.inspection import inspect
from biasgrid.warehouse.expectations.process import Inspector, NotInspected
from biasgrid.warehouse.expectations.report import ExpectationsFailed, Report, as_mistakes
from biasgrid.warehouse.storage.errors import LakeDamaged
from biasgrid.warehouse.storage.lake import Lake


def build_inspected(lake: Lake, inspector: Inspector) -> Report:
    """Builds the warehouse, and replaces the old one if all expectations are met.

    Raises `ExpectationsFailed` with all failures, and the errors of `build`; the old file is then unchanged.
    """
    passed: list[Report] = []

    def gate(built: Path) -> None:
        report = inspect(inspector, lake, built)
        if report.failures:
            raise ExpectationsFailed(tuple(as_mistakes(report, lake)), report)
        passed.append(report)

    try:
        build(lake, gate=gate)
    except (LakeDamaged, ModelTestFailed) as error:
        if (report := _of_lake(lake, inspector)) is None:
            raise
        found = error.mistakes if isinstance(error, LakeDamaged) else ()
        raise ExpectationsFailed((*found, *as_mistakes(report, lake)), report) from error
    return passed[0]


def _of_lake(lake: Lake, inspector: Inspector) -> Report | None:
    """Report on a lake whose warehouse build failed; None if nothing fails or nothing was checked."""
    try:
        with hold_build_lock(lake):
            report = inspect(inspector, lake, None)
    except NotInspected:
        return None
    return report if report.failures else None
