"""Outcome of an interaction from the marts: scores, effects of discussion and mitigation, exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from biasgrid.flows.runs.outcome import FAILURES, EndedByBound, coverage_query, end_fields
from biasgrid.tasks.report.findings import InteractionFindings, rows_of
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import find_run


@dataclass(frozen=True, kw_only=True)
class InteractionOutcome(InteractionFindings, EndedByBound):
    """A finished interaction: its findings, and how it ended."""

    title = "interaction"
    is_imported: bool = False

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.overall

    @property
    def counts(self) -> str:
        found = Counter(row["decision"] for row in self.overall)
        text = ", ".join(f"{count} {decision}" for decision, count in sorted(found.items()))
        return f"scores: {text}" if text else "no score"


def read_outcome(lake: Lake, run_id: str) -> InteractionOutcome:
    """Outcome of an interaction; raises UserError if there is no warehouse."""
    from biasgrid.warehouse.build.build import connect, fetch_rows

    with connect(lake) as warehouse:
        rows = rows_of(warehouse, run_id)
        covered, failed = (fetch_rows(warehouse, sql, [run_id]).to_dicts() for sql in (COVERED, FAILURES))
    is_imported = find_run(lake, run_id).is_imported
    return InteractionOutcome(
        is_imported=is_imported, **(end_fields(lake, run_id, covered, covered, failed) | rows)
    )


COVERED = coverage_query(
    "sum(replies) filter (where not is_failed) / sum(replies)",
    """(
        select run_id, model, outcome = 'error' as is_failed, 1 as replies from intermediate.int_assignments
        union all
        select run_id, model, true, errors from marts.understanding
        union all
        select run_id, model, false, replies - errors from marts.understanding
    )""",
)
"""Whether enough of the requested assignments or judgements were given."""
