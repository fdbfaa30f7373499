"""How a run ended, read from the marts: findings, completeness and the exit code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.catalogs.schema.choices import Gate as Gate
from biasgrid.warehouse.storage.lake import Lake

MET, NOT_MET, MISTAKE, INCOMPLETE, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""Exit codes."""


class Ended(ABC):
    """How a run of any kind ended."""

    title: ClassVar[str]
    run_id: str
    incomplete: bool
    failures: list[tuple[str, int]]
    """Failure reasons of requests without a reply, with counts, most frequent first."""

    @property
    @abstractmethod
    def counts(self) -> str:
        """Counts of the findings, in words."""

    @property
    @abstractmethod
    def exit_code(self) -> int: ...

    def exit_code_by(self, gate: Gate) -> int:
        """The exit code; only benchmarks have gates."""
        return self.exit_code

    @property
    def headline(self) -> str:
        return f"{self.title} {self.run_id}: {self.counts}{', incomplete' if self.incomplete else ''}"

    @property
    def warning(self) -> str:
        """The headline and, of an incomplete run, its most frequent failure."""
        why = f"; {self.failures[0][1]:,} × {self.failures[0][0]}" if self.incomplete and self.failures else ""
        return f"{self.headline}{why}"

    def __str__(self) -> str:
        return self.warning


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
        """Exit code by point rates."""
        return self.exit_code_by("point")

    def exit_code_by(self, gate: Gate) -> int:
        """Exit code: incomplete before not met (or not evaluated) before undecided before met."""
        found = {row["point_finding" if gate == "point" else "decision"] for row in self.findings}
        if self.incomplete:
            return INCOMPLETE
        if found & {"not met", "not evaluated"}:
            return NOT_MET
        return UNDECIDED if "undecided" in found else MET


def outcome(lake: Lake, run_id: str, is_checked: bool = False) -> Outcome:
    """What a run found. `is_checked`: pages tell what is expected of the warehouse. Raises UserError where none
    has been built."""
    from biasgrid.warehouse.build.build import connect, fetch_rows

    with connect(lake, texts_of=run_id) as warehouse:
        found, unheard, failed, silent = (
            fetch_rows(warehouse, sql, [run_id]) for sql in (FINDINGS, UNHEARD, FAILURES, SILENT)
        )
    worst_first = found.to_dicts()
    incomplete = not worst_first or unheard.item() > 0 or not all(row["is_complete"] for row in worst_first)
    failures = counted_failures(failed.to_dicts())
    places = places_of(lake)
    if is_checked:
        places["checked"] = lake.told(lake.pages / "index.html")
    return Outcome(run_id, worst_first, incomplete, failures, places, silent.to_dicts())


def places_of(lake: Lake) -> dict[str, Path | str]:
    """Locations of a run's results."""
    return {"lake": lake.told(lake.root / "lake"), "warehouse": lake.told(lake.database)}


FINDINGS = """
    select *
    from marts.requirement_findings
    where run_id = ?
    order by model, point_rate nulls first, requirement
"""
"""Worst first."""

UNHEARD = """
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

FAILURES = """
    select error_class || ': ' || any_value(error_message) as reason, count(*) as requests
    from staging.stg_responses
    where run_id = ? and is_answer and error_class is not null
    group by model, error_class
    order by requests desc
"""


def counted_failures(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Rows of FAILURES as reasons with their numbers."""
    return [(row["reason"], row["requests"]) for row in rows]


def need(finding: dict[str, Any]) -> str | None:
    """What would decide an undecided finding; None if not applicable."""
    needed = finding["templates_needed"]
    return None if needed is None else f"needs ≥ {needed:,} templates"
