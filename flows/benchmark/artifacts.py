"""What people see of a finished run in the Prefect UI: findings, a summary, what has changed, the last nights."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from prefect.artifacts import acreate_markdown_artifact, acreate_table_artifact

from biasgrid.flows.benchmark.previous_runs import Before, before
from biasgrid.flows.benchmark.summary import changed_page, summary
from biasgrid.flows.benchmark.trend_chart import trend_page
from biasgrid.flows.runs.outcome import Outcome, need
from biasgrid.flows.terminal.markdown import cell, plain
from biasgrid.tasks.report.figures import share
from biasgrid.warehouse.storage.lake import Lake


async def publish(lake: Lake, found: Outcome, scenario: str, shards: Sequence[Sequence[str]] = ()) -> Before:
    """Create the artifacts of a finished run; returns what it was set beside. `shards` as of `summary`."""
    earlier = await asyncio.to_thread(before, lake, found.run_id)
    told, run = plain(scenario), f"run {found.run_id}"
    await acreate_table_artifact([*map(_row, found.findings)], "findings", f"{told}: findings of {run}")
    if earlier.changes:
        page = changed_page(earlier, found.run_id)
        await acreate_markdown_artifact(page, "regressions", f"{told}: {run} beside the one before")
    if earlier.trend:
        page = trend_page(earlier.trend, "The last nights")
        await acreate_markdown_artifact(page, "trend", f"{told}: pass rates up to {run}")
    page = summary(found, scenario, lake.named, earlier, shards)
    await acreate_markdown_artifact(page, "summary", f"{told}: summary of {run}")
    return earlier


def _row(finding: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": cell(finding["model"]),
        "requirement": cell(finding["requirement"]),
        "concern": cell(finding["concern"]),
        "finding": finding["point_finding"],
        "decision": finding["decision"],
        "needs": need(finding) or "",
        "passed": share(finding["point_rate"]),
        "95% interval": f"{share(finding['interval_low'])} to {share(finding['interval_high'])}",
        "tolerance": share(finding["tolerance"]),
        "refused": share(finding["refusal_rate"]),
        "coverage": share(finding["coverage"]),
        "tests": finding["tests"],
        "cells met": f"{finding['cells_met']}/{finding['cells']}",
    }
