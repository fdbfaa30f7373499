"""Outcome of a benchmark from the marts: findings, completeness and the exit code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from biasgrid.catalogs.choices import Gate
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
from biasgrid.tasks.report.figures import share
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import find_run


@dataclass(frozen=True, kw_only=True)
class Outcome(Ended):
    """A finished benchmark. `findings` are the rows of marts.requirement_findings, worst first."""

    title = "run"
    findings: list[dict[str, Any]]
    silent_judges: list[dict[str, Any]] = field(default_factory=list)
    """Judges without a verdict on some replies: assessor, asked, n that they gave; refused, unreadable, failed."""
    unqualified: list[dict[str, Any]] = field(default_factory=list)
    """Rows of marts.judge_qualification: judges whose verdicts on replies do not count in a language."""
    unanswered: int = 0
    """Judge requests without a reply."""
    is_imported: bool = False

    def __str__(self) -> str:
        return self.headline

    @property
    def counts(self) -> str:
        proven, by_point = (
            sum(row[name] == "met" for row in self.findings) for name in ("decision", "point_finding")
        )
        differ = "" if proven == by_point else f", {by_point} by the point rate"
        return f"{proven} of {len(self.findings)} requirements met{differ}"

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
    worst_first, unanswered, failed, silent, unqualified = read_rows(
        lake, run_id, FINDINGS, UNANSWERED, FAILURES, SILENT, UNQUALIFIED, texts=True
    )
    questions = unanswered[0]["questions"]
    complete = worst_first and not questions and not unqualified
    incomplete = not complete or not all(row["is_complete"] for row in worst_first)
    places = places_of(lake)
    if is_checked:
        places["checked"] = lake.display_path(lake.pages / "index.html")
    return Outcome(
        run_id=run_id,
        findings=worst_first,
        incomplete=incomplete,
        failures=counted_failures(failed),
        places=places,
        silent_judges=silent,
        unqualified=unqualified,
        unanswered=questions,
        is_imported=find_run(lake, run_id).is_imported,
    )


FINDINGS = """
    select *
    from marts.requirement_findings
    where run_id = ?
    order by model, rate nulls first, requirement
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

UNQUALIFIED = """
    select *
    from marts.judge_qualification
    where run_id = ? and not qualifies and asked_replies > 0
    order by judge, language
"""
"""Judges whose verdicts would have counted."""


def describe_judge(finding: dict[str, Any]) -> str:
    """What a judge that has qualified, and people, changed of a rate, and the corrected rate; mostly empty."""
    notes = []
    if finding.get("judge_decided"):
        notes.append(f"judge overturned {finding['judge_overturned']:,} of {finding['judge_decided']:,}")
    if finding.get("decided_by_people"):
        people, decided = finding["overridden_by_people"], finding["decided_by_people"]
        notes.append(f"people overturned {people:,} of {decided:,}")
    if finding.get("corrected_rate") is not None:
        low, high = share(finding["corrected_low"]), share(finding["corrected_high"])
        rate = f"{share(finding['corrected_rate'])} ({low} to {high})"
        notes.append(f"corrected for the judge's error {rate} in {finding['worst_language']}")
    return ", ".join(notes)


def explain_unqualified(row: dict[str, Any]) -> str:
    """Why the verdicts of a judge do not count in a language, with its figures and the floor."""
    judge, floor = f"the judge {row['judge']}", f"{100 * row['judge_floor']:g}%"
    kept = f"its verdicts on {row['judged_replies']:,} replies do not count"
    if not row["controls"]:
        lack = f"there are no controls for {row['language']}: write `controls/{row['language']}.yaml`"
        return f"{judge} cannot qualify in {row['language']}, {kept}; {lack}"
    if row["controls_decided"] < row["controls_needed"]:
        lack = f"it passed or failed {row['controls_decided']} of {row['controls']} controls"
        return (
            f"{judge} does not qualify in {row['language']}, {kept}: {lack}, {row['controls_needed']} are needed"
        )
    right = f"sensitivity {share(row['sensitivity'])}, specificity {share(row['specificity'])}"
    least = f"on {row['controls']} controls, and each must be {floor} at least"
    return f"{judge} does not qualify in {row['language']}, {kept}: {right} {least}"
