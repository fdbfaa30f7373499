"""Mart rows of one run, in reading order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb
import orjson
import polars as pl

from biasgrid.tasks.report.figures import moment
from biasgrid.warehouse.build.build import fetch_rows, query, run_row
from biasgrid.warehouse.build.models import load_models
from biasgrid.warehouse.storage.lake import Lake

TESTS = "list_position(['implicit', 'explicit', 'decision', 'counterfactual'], test)"
SETTINGS = "list_position(['no_interaction', 'no_goal', 'goal'], setting)"
MITIGATIONS = "list_position(['none', 'reflection', 'reflection_with_examples'], mitigation)"
STAGES = "list_position(['only', 'first', 'reflected', 'between', 'last'], stage)"


SHOWN = ("biasgrid", "python")
"""Packages whose versions a page shows."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    run_id: str
    kind: str
    state: str
    seed: int | None
    started_at: datetime | None
    ended_at: datetime | None
    name: str
    """What was assessed: the scenario, or whose chatbot it is, else its models."""
    versions: Sequence[tuple[str, str]]

    @property
    def moment(self) -> str:
        return moment(self.started_at)

    @property
    def shown_versions(self) -> list[tuple[str, str]]:
        """Of the packages SHOWN that the run has recorded."""
        return [(package, version) for package, version in self.versions if package in SHOWN]


def run_facts(row: Mapping[str, Any]) -> RunFacts:
    """Of a row of staging.stg_runs."""
    resolved = recorded_object(row["scenario_resolved"])
    target = resolved.get("target")
    name = resolved.get("name")
    if isinstance(target, dict):
        name = target.get("company") or ", ".join(map(str, target.get("models") or ()))
    kept = {field: row[field] for field in ("run_id", "kind", "state", "seed", "started_at", "ended_at")}
    recorded = recorded_object(row["versions"])
    versions = [(str(package), str(version)) for package, version in recorded.items()]
    return RunFacts(**kept, name=str(name or row["run_id"]), versions=versions)


def recorded_object(text: str | None) -> dict[str, Any]:
    """JSON object in a column of a run's row; empty if it is no object."""
    read = orjson.loads(text or "{}")
    return read if isinstance(read, dict) else {}


MARTS = ("requirement_findings", "pass_rates", "deltas", "refusals", "costs")
"""Marts that say something about one run."""


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
    """The findings of one run; raises `UserError` if there is no warehouse or no such run."""
    run_row(lake, run_id)
    return Findings(run_id, *(mart(lake, name, run_id) for name in MARTS))


def mart(lake: Lake, name: str, run_id: str) -> pl.DataFrame:
    """One run's rows of the mart `name`, in the order of its ids."""
    known = [model.name for model in load_models() if model.schema == "marts" and "run_id" in model.about.columns]
    if name not in known:
        raise ValueError(f"`{name}` is no mart of one run; known: {', '.join(known)}")
    return query(lake, f"select * from marts.{name} where run_id = ? order by all", [run_id])  # noqa: S608


FINDINGS = f"""
    select *
    from marts.probe_findings
    where run_id = ?
    order by model, language, {TESTS},
        starts_with(finding, 'biased') desc, q_value nulls last, pair
"""  # noqa: S608 - words of ours
RULES = "from marts.probe_outcomes where run_id = ? order by model, language"
GROUP_PAIRS = f"""
    select pairs.*, groups.differing, groups.q_value, groups.finding as over_all
    from marts.probe_group_pairs as pairs
    inner join marts.probe_groups as groups using (run_id, pair, model, language, test)
    where run_id = ?
    order by model, language, {TESTS}, pair, first_place, second_place
"""  # noqa: S608 - words of ours


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
        name: fetch_rows(warehouse, f"from marts.{name} where run_id = ? order by {order}", [run_id]).to_dicts()
        for name, order in ORDERS.items()
    }
