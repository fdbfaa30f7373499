"""How a probe or a red team comes to its end: aggregated, read from the marts, recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from prefect import get_run_logger

from biasgrid.flows.benchmark.flow import aggregated
from biasgrid.warehouse.expectations.process import Inspector
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run


class Ending(Protocol):
    """What a run found; as text, how it ended in one line."""

    @property
    def incomplete(self) -> bool: ...


Found = TypeVar("Found", bound=Ending)


async def concluded(
    lake: Lake, run: Run, inspector: Inspector | None, read: Callable[[Lake, str], Found]
) -> Found:
    """Aggregate, and `read` from the marts how the run ended."""
    run.record(lake, "aggregating")
    await aggregated(lake, run.run_id, inspector)
    found = read(lake, run.run_id)
    if not found.incomplete:
        run.record(lake, "completed")
        return found
    run.record(lake, "incomplete")  # which only the marts know: recorded, and built once more with it
    await aggregated(lake, run.run_id, inspector, "aggregate · marked as incomplete")
    get_run_logger().warning("%s", found)
    return found
