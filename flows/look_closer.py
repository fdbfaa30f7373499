"""Commands that lead from what a run found to its evidence, ready to be copied where its data is at hand."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from flows.markdown import block
from flows.outcome import Outcome
from tasks.report.figures import share

TRACED = 12
"""Findings that get a command of their own, the worst of each model first."""


def look_closer(found: Outcome, data: str, earlier: str | None = None) -> str:
    """Markdown: reports, the comparison with the run `earlier`, and the way from what is not met to each reply;
    `data` is where it lies."""
    lines = [_command("report", found.run_id, data=data)]
    if earlier:
        lines.append(_command("compare", earlier, found.run_id, data=data))
    query = f"from marts.requirement_findings where run_id = '{found.run_id}'"
    lines.append(f'biasgrid sql "{query}" --data {shlex.quote(data)}')
    return block(lines) + _traces(found, data)


def _traces(found: Outcome, data: str) -> str:
    unmet = [row for row in found.findings if row["point_finding"] != "met"]
    if not unmet:
        return ""
    lines = [line for row in unmet[:TRACED] for line in _trace(row, found.run_id, data)]
    more = len(unmet) - TRACED
    rest = f"\n\n… and {more} more, in the same way" if more > 0 else ""
    return f"\n\nWhat is not met, from the requirement to each prompt, reply and verdict:\n\n{block(lines)}{rest}"


def _trace(row: dict[str, Any], run_id: str, data: str) -> Iterator[str]:
    rates = f"{share(row['point_rate'])} passed, tolerance {share(row['tolerance'])}"
    yield f"# {row['requirement']}, {row['model']}: {row['point_finding']}, {rates}"
    words = ("trace", row["requirement"], "--kind", "requirement", "--model", row["model"], "--run", run_id)
    yield _command(*words, data=data)


def _command(*words: str, data: str) -> str:
    return shlex.join(["biasgrid", *words, "--data", data])
