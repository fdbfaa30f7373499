"""How an interaction ended, read from the marts: scores, what talking and mitigating changed, the exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from prefect.states import Completed

from flows.outcome import FAILURES, INCOMPLETE, MET, NOT_MET
from warehouse.lake import Lake

BIASED, ANTI_BIASED, NOT_EVALUATED = "biased", "anti-biased", "not evaluated"


@dataclass(frozen=True, slots=True)
class InteractionOutcome:
    """A finished interaction, as rows of the marts of these names."""

    run_id: str
    bias_scores: list[dict[str, Any]]
    escalation: list[dict[str, Any]]
    self_corrections: list[dict[str, Any]]
    mitigations: list[dict[str, Any]]
    understanding: list[dict[str, Any]]
    choices: list[dict[str, Any]]
    incomplete: bool
    failures: list[tuple[str, int]]
    """Why agents gave no reply, with how many each, most first."""
    places: dict[str, Path | str]
    """Where everything lies."""

    @property
    def overall(self) -> list[dict[str, Any]]:
        """Scores over all domains, controls aside."""
        return [row for row in self.bias_scores if row["domain"] == "all" and not row["is_control"]]

    @property
    def talked(self) -> list[dict[str, Any]]:
        """What talking changed over all domains, controls aside."""
        return [row for row in self.escalation if row["domain"] == "all" and not row["is_control"]]

    @property
    def mitigated(self) -> list[dict[str, Any]]:
        """What mitigation changed where it could: reflecting comes after the first assignment."""
        return [
            row for row in self.mitigations if row["stage"] != "first" or not row["mitigation"].startswith("refl")
        ]

    @property
    def exit_code(self) -> int:
        """Incomplete before biased, either way, or not evaluated before neither."""
        if self.incomplete:
            return INCOMPLETE
        decided = {row["decision"] for row in self.overall}
        return NOT_MET if decided & {BIASED, ANTI_BIASED, NOT_EVALUATED} else MET

    def __str__(self) -> str:
        counts = Counter(row["decision"] for row in self.overall)
        told = ", ".join(f"{count} {decision}" for decision, count in sorted(counts.items()))
        why = f"; {self.failures[0][1]:,} × {self.failures[0][0]}" if self.incomplete and self.failures else ""
        scores = f"scores: {told}" if told else "no score"
        return f"interaction {self.run_id}: {scores}{', incomplete' if self.incomplete else ''}{why}"


def interaction_outcome(lake: Lake, run_id: str) -> InteractionOutcome:
    """What an interaction came to. Raises UserMistake where no warehouse has been built."""
    from warehouse.build import connect, selected

    with connect(lake) as warehouse:
        marts = {name: selected(warehouse, _rows(name), [run_id]).to_dicts() for name in MARTS}
        covered, failed = (selected(warehouse, sql, [run_id]).to_dicts() for sql in (COVERED, FAILURES))
    incomplete = not covered or not all(row["is_covered"] for row in covered)
    failures = [(row["reason"], row["requests"]) for row in failed]
    places = {"lake": lake.told(lake.root / "lake"), "warehouse": lake.told(lake.database)}
    return InteractionOutcome(run_id, **marts, incomplete=incomplete, failures=failures, places=places)


def ended(found: InteractionOutcome) -> InteractionOutcome:
    """What the flow returns: its state says in the UI how the interaction ended."""
    return cast(InteractionOutcome, Completed(message=str(found), data=found))


SETTINGS = "list_position(['no_interaction', 'no_goal', 'goal'], setting)"
MITIGATIONS = "list_position(['none', 'reflection', 'reflection_with_examples'], mitigation)"
STAGES = "list_position(['only', 'first', 'reflected', 'last'], stage)"
DOMAINS = "domain = 'all' desc, domain"
MARTS = {
    "bias_scores": f"model, language, axis, {SETTINGS}, {MITIGATIONS}, {STAGES}, is_control, {DOMAINS}",
    "escalation": f"model, language, axis, {SETTINGS}, {MITIGATIONS}, step, {DOMAINS}",
    "self_corrections": f"model, language, {SETTINGS}, {MITIGATIONS}",
    "mitigations": f"model, language, axis, {SETTINGS}, mitigation, {STAGES}",
    "understanding": "model, language",
    "choices": f"model, language, scene, {SETTINGS}, {MITIGATIONS}, {STAGES}",
}
"""The marts of an interaction, and the order in which people read them."""


def _rows(mart: str) -> str:
    return f"from marts.{mart} where run_id = ? order by {MARTS[mart]}"


COVERED = """
    with asked as (
        select run_id, model, outcome = 'error' as is_failed, 1 as replies from staging.stg_assignments
        union all
        select run_id, model, true, errors from marts.understanding
        union all
        select run_id, model, false, replies - errors from marts.understanding
    )
    select
        model,
        sum(replies) filter (where not is_failed) / sum(replies)
            >= any_value((runs.scenario_resolved::json -> 'asking' ->> 'coverage')::double) as is_covered
    from asked
    inner join staging.stg_runs as runs using (run_id)
    where run_id = ?
    group by model
"""
"""Whether enough of what a player was asked to say, assignments or judgements of them, was said."""
