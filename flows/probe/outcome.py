"""How a probe ended, read from the marts: findings by pair, the published rule, completeness, the exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from prefect.states import Completed

from biasgrid.flows.runs.outcome import FAILURES, INCOMPLETE, MET, NOT_MET
from biasgrid.tasks.report.findings import FINDINGS, RULES
from biasgrid.warehouse.storage.lake import Lake

BIASED, NOT_EVALUATED = "biased", "not evaluated"


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """A finished probe: rows of marts.probe_findings, worst first, and of marts.probe_outcomes."""

    run_id: str
    findings: list[dict[str, Any]]
    rules: list[dict[str, Any]]
    incomplete: bool
    failures: list[tuple[str, int]]
    """Why prompts have no reply, with how many each, most first."""
    places: dict[str, Path | str]
    """Where everything lies."""

    @property
    def biased(self) -> list[dict[str, Any]]:
        return [row for row in self.findings if row["finding"] == BIASED]

    @property
    def exit_code(self) -> int:
        """Incomplete before biased or not evaluated before neither."""
        if self.incomplete:
            return INCOMPLETE
        return NOT_MET if {row["finding"] for row in self.findings} & {BIASED, NOT_EVALUATED} else MET

    def __str__(self) -> str:
        counts = Counter(row["finding"] for row in self.findings)
        told = ", ".join(f"{count} {finding}" for finding, count in sorted(counts.items()))
        why = f"; {self.failures[0][1]:,} × {self.failures[0][0]}" if self.incomplete and self.failures else ""
        return f"probe {self.run_id}: {told}{', incomplete' if self.incomplete else ''}{why}"


def probe_outcome(lake: Lake, run_id: str) -> ProbeOutcome:
    """What a probe found. Raises UserError where no warehouse has been built."""
    from biasgrid.warehouse.build.build import connect, selected

    with connect(lake) as warehouse:
        findings, rules, covered, failed = (
            selected(warehouse, sql, [run_id]).to_dicts() for sql in (FINDINGS, RULES, COVERED, FAILURES)
        )
    incomplete = not findings or not all(row["is_covered"] for row in covered)
    failures = [(row["reason"], row["requests"]) for row in failed]
    places = {"lake": lake.told(lake.root / "lake"), "warehouse": lake.told(lake.database)}
    return ProbeOutcome(run_id, findings, rules, incomplete, failures, places)


def ended(found: ProbeOutcome) -> ProbeOutcome:
    """What the flow returns: its state says in the UI how the probe ended."""
    return cast(ProbeOutcome, Completed(message=str(found), data=found))


COVERED = """
    select
        model,
        count(*) filter (where outcome is distinct from 'error') / count(*)
            >= any_value((runs.scenario_resolved::json -> 'asking' ->> 'coverage')::double) as is_covered
    from staging.stg_probe_readings
    inner join staging.stg_runs as runs using (run_id)
    where run_id = ?
    group by model
"""
