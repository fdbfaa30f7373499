"""What the marts say about one run, as frames. Nothing is computed here that a mart holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from biasgrid.tasks.report.orders import MITIGATIONS, SETTINGS, STAGES, TESTS
from biasgrid.warehouse.build.build import query, run_row, selected
from biasgrid.warehouse.storage.lake import Lake

MARTS = ("requirement_findings", "pass_rates", "deltas", "refusals", "costs")
"""Marts that say something about one run."""
OF_PROBES = ("probe_findings", "probe_outcomes", "costs")
"""Marts that say something about a probe."""
OF_RED_TEAMS = ("attack_success", "attack_judge_agreement", "costs")
"""Marts that say something about a red team."""
OF_INTERACTIONS = (
    "bias_scores",
    "escalation",
    "self_corrections",
    "mitigations",
    "understanding",
    "choices",
    "costs",
)
"""Marts that say something about an interaction, but for its assignments task by task."""
BENCHMARKS = ("bbq_bias_scores", "crows_pairs_scores", "iat_scores")
"""Marts that say something about a run of an imported benchmark, and are empty for the others."""


@dataclass(frozen=True, slots=True)
class Findings:
    """One run's rows of the marts; columns are described in `warehouse/models/marts/*.yml`."""

    run_id: str
    requirements: pl.DataFrame
    """A row per requirement and model: met, not met or not evaluated, with coverage."""
    cells: pl.DataFrame
    """A row per requirement, model, language, input and reflection: rates and counts."""
    deltas: pl.DataFrame
    """A row per same-value test: spread between communities."""
    refusals: pl.DataFrame
    """A row per model, concern and community."""
    costs: pl.DataFrame
    """A row per model."""

    @property
    def is_complete(self) -> bool:
        """Whether every requirement and model reached its floor of coverage; an empty run is not complete."""
        return self.requirements.height > 0 and bool(self.requirements["is_complete"].all())

    @property
    def all_met(self) -> bool:
        return self.requirements.height > 0 and bool((self.requirements["point_finding"] == "met").all())


def findings(lake: Lake, run_id: str) -> Findings:
    """The findings of one run. Raises `UserError` where there is no warehouse or no such run in it."""
    run_row(lake, run_id)
    return Findings(run_id, *(mart(lake, name, run_id) for name in MARTS))


def mart(lake: Lake, name: str, run_id: str) -> pl.DataFrame:
    """One run's rows of the mart `name`, of those named above, in the order of its ids."""
    known = dict.fromkeys(MARTS + OF_PROBES + OF_RED_TEAMS + OF_INTERACTIONS + BENCHMARKS)
    if name not in known:
        raise ValueError(f"`{name}` is no mart of one run; known: {', '.join(known)}")
    return query(lake, f"select * from marts.{name} where run_id = ? order by all", [run_id])  # noqa: S608


FINDINGS = f"""
    select *
    from marts.probe_findings
    where run_id = ?
    order by model, language, {TESTS},
        finding = 'biased' desc, q_value nulls last, pair
"""  # noqa: S608 - words of ours
RULES = "from marts.probe_outcomes where run_id = ? order by model, language"


Row = Mapping[str, Any]
WHO, KINDS = "model, language, axis", "is_control, held_out"
DOMAINS = "domain = 'all' desc, domain"
ORDERS = {
    "bias_scores": f"{WHO}, {KINDS}, {DOMAINS}, {SETTINGS}, {MITIGATIONS}, {STAGES}",
    "escalation": f"{WHO}, {KINDS}, {DOMAINS}, {SETTINGS}, {MITIGATIONS}, step",
    "self_corrections": f"{WHO}, held_out, {SETTINGS}, {MITIGATIONS}",
    "mitigations": f"{WHO}, held_out, {SETTINGS}, mitigation, {STAGES}",
    "understanding": "model, language, held_out",
    "choices": f"model, language, scene, {SETTINGS}, {MITIGATIONS}, {STAGES}",
}


@dataclass(frozen=True, kw_only=True)
class InteractionFindings:
    """Rows of the marts of these names."""

    bias_scores: list[dict[str, Any]]
    escalation: list[dict[str, Any]]
    self_corrections: list[dict[str, Any]]
    mitigations: list[dict[str, Any]]
    understanding: list[dict[str, Any]]
    choices: list[dict[str, Any]]

    @property
    def overall(self) -> list[dict[str, Any]]:
        """Scores over all domains, controls aside."""
        return [row for row in self.bias_scores if is_overall(row)]

    @property
    def controls(self) -> list[dict[str, Any]]:
        """Scores of tasks without a stereotype, over all domains: what they show is no bias."""
        return [row for row in self.bias_scores if row["domain"] == "all" and row["is_control"]]

    @property
    def talked(self) -> list[dict[str, Any]]:
        """What talking changed over all domains, controls aside."""
        return [row for row in self.escalation if is_overall(row)]

    @property
    def mitigated(self) -> list[dict[str, Any]]:
        """What mitigation changed where it could: reflecting comes after the first assignment."""
        return [
            row for row in self.mitigations if row["stage"] != "first" or not row["mitigation"].startswith("refl")
        ]


def is_overall(row: Row) -> bool:
    """Of all domains, and of tasks that have a stereotype."""
    return row["domain"] == "all" and not row["is_control"]


def rows_of(warehouse: duckdb.DuckDBPyConnection, run_id: str) -> dict[str, list[dict[str, Any]]]:
    """The fields of InteractionFindings."""
    return {
        name: selected(warehouse, f"from marts.{name} where run_id = ? order by {order}", [run_id]).to_dicts()
        for name, order in ORDERS.items()
    }
