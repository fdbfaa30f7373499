"""A run as the head of a page tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from biasgrid.tasks.report.figures import moment

SHOWN = ("biasgrid", "python")
"""Packages whose versions a page shows."""


@dataclass(frozen=True, slots=True)
class ToldRun:
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


def told_run(row: Mapping[str, Any]) -> ToldRun:
    """Of a row of staging.stg_runs."""
    resolved = recorded_object(row["scenario_resolved"])
    target = resolved.get("target")
    name = _described(target) if isinstance(target, dict) else resolved.get("name")
    kept = {field: row[field] for field in ("run_id", "kind", "state", "seed", "started_at", "ended_at")}
    recorded = recorded_object(row["versions"])
    versions = [(str(package), str(version)) for package, version in recorded.items()]
    return ToldRun(**kept, name=str(name or row["run_id"]), versions=versions)


def _described(target: Mapping[str, Any]) -> str:
    return str(target.get("company") or ", ".join(map(str, target.get("models") or ())))


def recorded_object(text: str | None) -> dict[str, Any]:
    """What a column of a run's row holds as JSON; empty where that is no object."""
    read = orjson.loads(text or "{}")
    return read if isinstance(read, dict) else {}
