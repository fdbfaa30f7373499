"""Findings of a finished run in the Prefect UI."""

from __future__ import annotations

from typing import Any

from prefect.artifacts import acreate_markdown_artifact, acreate_table_artifact

from biasgrid.flows.terminal.markdown import plain


async def publish_findings(
    table: tuple[str, str, list[dict[str, Any]]], kind: str, page: str, name: str, run_id: str
) -> None:
    """Create the artifacts of a run of `kind`: the table (its key, what it holds, its rows), and the summary."""
    key, what, rows = table
    await acreate_table_artifact(rows, key, f"{plain(name)}: {what} of run {run_id}")
    await acreate_markdown_artifact(page, f"{kind}-summary", f"{plain(name)}: summary of run {run_id}")
