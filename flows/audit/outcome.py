"""Outcome of an audit from the marts: shifts, ratios, flips, completeness and exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from biasgrid.flows.runs.outcome import FAILURES, Ended, coverage_query, end_fields, read_rows
from biasgrid.tasks.report.html.audit_pages import findings_of
from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True, kw_only=True)
class AuditOutcome(Ended):
    """A finished audit: rows of marts.score_shifts, impact_ratios, selection_rates and decision_flips."""

    title = "audit"
    shifts: list[dict[str, Any]]
    ratios: list[dict[str, Any]]
    rates: list[dict[str, Any]]
    order: list[dict[str, Any]]
    """Of shortlists: how much more often earlier places are selected."""
    ranks: list[dict[str, Any]]
    """Of scores: the places of documents when they are ranked."""
    flips: list[dict[str, Any]]
    """The first of each group and signal."""

    @property
    def states(self) -> Iterator[tuple[str, bool]]:
        """State of each comparison, and whether the file states what it must keep to."""
        for row in self.shifts:
            is_bound = row["margin"] is not None and row["state"] != "not evaluated"
            if row["is_decisive"]:
                yield row["state"], is_bound
        for row in self.ratios:
            if row["least_ratio"] is not None:
                yield row["state"], True

    @property
    def met(self) -> bool:
        """Nothing is shown or lacks an answer; with a margin or ratio, each is proven."""
        own = [*self.states]
        return bool(own) and all(state == "met" or (state == "undecided" and not bound) for state, bound in own)

    @property
    def is_unproven(self) -> bool:
        """Whether something is undecided that the file wants proven, and nothing is worse."""
        found = {state for state, _ in self.states}
        return "undecided" in found and found <= {"undecided", "met"}

    @property
    def counts(self) -> str:
        found = Counter(row["finding"] for row in self.shifts)
        return ", ".join(f"{count} {finding}" for finding, count in sorted(found.items())) or "no comparison"


SHOWN: Final = 3
"""Flips of a group and signal that are shown; the mart has all of them."""


def read_outcome(lake: Lake, run_id: str) -> AuditOutcome:
    """Findings of an audit; raises UserError if there is no warehouse."""
    rows = findings_of(lake, run_id, SHOWN)
    covered, failed = read_rows(lake, run_id, COVERED, FAILURES)
    return AuditOutcome(**(end_fields(lake, run_id, rows["shifts"], covered, failed) | rows))


COVERED = coverage_query(
    "count(*) filter (where outcome is distinct from 'error') / count(*)", "intermediate.int_audit_decisions"
)
