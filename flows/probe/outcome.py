"""Outcome of a probe from the marts: findings by pair, published rule, completeness and exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from biasgrid.flows.runs.outcome import FAILURES, EndedByBound, coverage_query, end_fields, read_rows
from biasgrid.tasks.report.findings import FINDINGS, GROUP_PAIRS, RULES
from biasgrid.warehouse.storage.lake import Lake

NOT_EVALUATED = "not evaluated"


@dataclass(frozen=True, kw_only=True)
class ProbeOutcome(EndedByBound):
    """A finished probe: rows of marts.probe_findings, worst first, of marts.probe_outcomes, and of
    marts.probe_group_pairs with the test over all groups."""

    title = "probe"
    findings: list[dict[str, Any]]
    rules: list[dict[str, Any]]
    group_pairs: list[dict[str, Any]]

    @property
    def biased(self) -> list[dict[str, Any]]:
        return [row for row in self.findings if row["finding"].startswith("biased")]

    @property
    def between_groups(self) -> list[dict[str, Any]]:
        """Those in which the stereotype's two groups are not shown to differ."""
        return [row for row in self.findings if row["finding"] == "biased between groups"]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.findings

    @property
    def counts(self) -> str:
        found = Counter(row["finding"] for row in self.findings)
        return ", ".join(f"{count} {finding}" for finding, count in sorted(found.items()))


def read_outcome(lake: Lake, run_id: str) -> ProbeOutcome:
    """Findings of a probe; raises UserError if there is no warehouse."""
    findings, rules, pairs, covered, failed = read_rows(
        lake, run_id, FINDINGS, RULES, GROUP_PAIRS, COVERED, FAILURES
    )
    ended = end_fields(lake, run_id, findings, covered, failed)
    return ProbeOutcome(findings=findings, rules=rules, group_pairs=pairs, **ended)


COVERED = coverage_query(
    "count(*) filter (where outcome is distinct from 'error') / count(*)", "intermediate.int_probe_readings"
)
