"""Outcome of a benchmark from the marts: findings, completeness and the exit code."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from biasgrid.catalogs.schema.choices import Gate
from biasgrid.flows.runs.outcome import (
    FAILURES,
    INCOMPLETE,
    MET,
    NOT_MET,
    UNDECIDED,
    Ended,
    counted_failures,
    places_of,
    read_rows,
)
from biasgrid.warehouse.storage.lake import Lake


@dataclass(frozen=True)
class Outcome(Ended):
    """A finished benchmark. `findings` are the rows of marts.requirement_findings, worst first."""

    title = "run"
    run_id: str
    findings: list[dict[str, Any]]
    incomplete: bool
    failures: list[tuple[str, int]]
    """Failure reasons of requests still without a reply, with counts, most frequent first."""
    places: dict[str, Path | str]
    """Locations of the results."""
    silent_judges: list[dict[str, Any]] = field(default_factory=list)
    """Judges without a verdict on some replies: assessor, asked, n that they gave; refused, unreadable, failed."""

    def __str__(self) -> str:
        return self.headline

    @property
    def counts(self) -> str:
        met = sum(row["point_finding"] == "met" for row in self.findings)
        return f"{met} of {len(self.findings)} requirements met"

    @property
    def decided(self) -> int:
        """Number of verdicts reviewed by people."""
        return sum(row.get("decided_by_people") or 0 for row in self.findings)

    @property
    def overridden(self) -> int:
        """Number of verdicts changed by people."""
        return sum(row.get("overridden_by_people") or 0 for row in self.findings)

    @property
    def met(self) -> bool:
        return all(row["point_finding"] == "met" for row in self.findings)

    @property
    def exit_code(self) -> int:
        return self.exit_code_by("point")

    def exit_code_by(self, gate: Gate) -> int:
        """Exit code: incomplete before not met (or not evaluated) before undecided before met."""
        found = {row["point_finding" if gate == "point" else "decision"] for row in self.findings}
        if self.incomplete:
            return INCOMPLETE
        if found & {"not met", "not evaluated"}:
            return NOT_MET
        return UNDECIDED if "undecided" in found else MET


def read_outcome(lake: Lake, run_id: str, is_checked: bool = False) -> Outcome:
    """What a run found. `is_checked`: pages state what is expected of the warehouse. Raises UserError where none
    has been built."""
    worst_first, unanswered, failed, silent = read_rows(
        lake, run_id, FINDINGS, UNANSWERED, FAILURES, SILENT, texts=True
    )
    incomplete = (
        not worst_first or unanswered[0]["questions"] > 0 or not all(row["is_complete"] for row in worst_first)
    )
    places = places_of(lake)
    if is_checked:
        places["checked"] = lake.display_path(lake.pages / "index.html")
    return Outcome(run_id, worst_first, incomplete, counted_failures(failed), places, silent)


FINDINGS = """
    select *
    from marts.requirement_findings
    where run_id = ?
    order by model, point_rate nulls first, requirement
"""
"""Worst first."""

UNANSWERED = """
    select count(*) as questions
    from (
        select request_key
        from staging.stg_responses
        where run_id = ? and purpose = 'judge'
        group by request_key
        having count(text) = 0
    )
"""
"""Judge requests without a reply."""

SILENT = """
    select
        assessor,
        asked,
        n,
        assessor_refused as refused,
        assessor_unreadable as unreadable,
        assessor_failed as failed
    from marts.judge_agreement
    where run_id = ? and scope = 'all' and reference_kind = 'oracle' and n < asked
    order by assessor
"""
"""Judges without a verdict on some replies."""


def templates_needed(finding: dict[str, Any]) -> str | None:
    """What would decide an undecided finding; None if not applicable."""
    needed = finding["templates_needed"]
    return None if needed is None else f"needs ≥ {needed:,} templates"
