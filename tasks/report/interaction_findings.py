"""What the marts say about one interaction, in the order in which people read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from tasks.report.orders import MITIGATIONS, SETTINGS, STAGES
from warehouse.build import selected

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
