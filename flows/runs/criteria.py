"""Stores the rules by which the verdicts of an evaluation become findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from biasgrid.catalogs.schema.requirements import Requirement, ScenarioSettings
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import as_json, versions

OPTIONAL = {
    "judge": pl.String,
    "judge_overrules": pl.Boolean,
    "judge_floor": pl.Float64,
    "judge_corrects": pl.Boolean,
    "parity": pl.Float64,
}


@dataclass(frozen=True, slots=True)
class Rules:
    """What an evaluation judges by."""

    settings: ScenarioSettings
    requirements: Sequence[Requirement]
    hashes: Mapping[str, str]
    """Of the catalog's files."""

    def rows(self) -> list[dict[str, Any]]:
        """A row of criteria for each requirement, without the keys of the evaluation."""
        settings, hashes, installed = self.settings, as_json(self.hashes), as_json(versions())
        return [
            {
                "requirement": requirement.name,
                "concern": requirement.concern,
                "rationale": requirement.rationale,
                "measure": requirement.measure,
                "tolerance": requirement.tolerance,
                "delta": requirement.delta,
                "parity": requirement.parity,
                "refusals": requirement.refusals,
                "max_refusals": requirement.max_refusals,
                "coverage": settings.coverage,
                "least_drop": settings.least_drop,
                "judge": settings.judge,
                "judge_overrules": settings.judge_overrules if settings.judge else None,
                "judge_floor": settings.judge_floor if settings.judge else None,
                "judge_corrects": settings.judge_corrects if settings.judge else None,
                "catalog_hashes": hashes,
                "versions": installed,
            }
            for requirement in self.requirements
        ]


def write_criteria(lake: Lake, run_id: str, evaluation_id: str, rules: Rules) -> None:
    """Stores the rules as the criteria of an evaluation."""
    keys = {"run_id": run_id, "evaluation_id": evaluation_id, "recorded_at": datetime.now(UTC)}
    frame = pl.DataFrame([keys | row for row in rules.rows()], schema_overrides=OPTIONAL)
    lake.write("criteria", run_id, evaluation_id, frame)
