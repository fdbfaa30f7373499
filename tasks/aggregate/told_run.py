"""A run as the head of a page tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson


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
        return "–" if self.started_at is None else f"{self.started_at:%Y-%m-%d %H:%M} UTC"


def told_run(row: Mapping[str, Any]) -> ToldRun:
    """Of a row of staging.stg_runs."""
    resolved = _object(row["scenario_resolved"])
    target = resolved.get("target")
    name = _described(target) if isinstance(target, dict) else resolved.get("name")
    kept = {field: row[field] for field in ("run_id", "kind", "state", "seed", "started_at", "ended_at")}
    versions = [(str(package), str(version)) for package, version in _object(row["versions"]).items()]
    return ToldRun(**kept, name=str(name or row["run_id"]), versions=versions)


def _described(target: Mapping[str, Any]) -> str:
    return str(target.get("company") or ", ".join(target.get("models") or ()))


def _object(text: str | None) -> dict[str, Any]:
    read = orjson.loads(text or "{}")
    return read if isinstance(read, dict) else {}
