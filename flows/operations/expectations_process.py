"""The process that checks expectations, beside a run that wants them checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from biasgrid.warehouse.expectations.process import Inspector
from biasgrid.warehouse.expectations.report import Report
from biasgrid.warehouse.storage.journal import recover
from biasgrid.warehouse.storage.lake import Lake


@contextmanager
def inspecting(wanted: bool) -> Iterator[Inspector | None]:
    """It loads while models answer, which takes longer mostly, and is gone afterwards. Raises `NotInspected`."""
    if not wanted:
        yield None
        return
    with Inspector() as inspector:
        yield inspector


def check_warehouse(lake: Lake) -> Report:
    """Builds the warehouse from everything that has landed, and keeps it if all is as expected. Raises as
    `biasgrid.warehouse.expectations.gate.build_inspected`."""
    from biasgrid.warehouse.expectations.gate import build_inspected  # loads DuckDB: none of a run's start

    with Inspector() as inspector:
        recover(lake)
        return build_inspected(lake, inspector)
