"""The coverage record: what was examined and what was not, why, when, and by what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

import duckdb
import orjson
import polars as pl

from tasks.aggregate.evidence import cells as by_cell
from tasks.aggregate.evidence.dimensions import Dimension, dimensions, folder_and_name
from tasks.aggregate.evidence.selection import selection_rates
from tasks.aggregate.evidence.sources import CatalogFile, kept_text
from tasks.aggregate.told_run import ToldRun, told_run
from warehouse.lake import Lake

ENDED: Final = "completed"
LIMITS: Final = (
    "What was asked stands for itself: synthetic prompts of a catalog, not the people and uses a model meets.",
    "No finding is no proof of its contrary: where a cell is undecided, not evaluated or not examined, nothing is "
    "known, and replies that were refused or unreadable are counted as such, never as unbiased.",
    "Verdicts are those of rules, and of a model or of people where the records name them; how far they agree is "
    "in marts/judge_agreement or marts/attack_judge_agreement where it was measured.",
)
NO_AUDIT: Final = (
    "These rates come of made-up people in synthetic prompts. They are no bias audit under New York City's Local "
    "Law 144, which is of a tool's use, on its historical or test data, by an independent auditor. Being chosen "
    "is not always to one's good: what it is for stands beside it."
)


@dataclass(frozen=True, slots=True)
class Point:
    """A text that such a record can serve, what it speaks of, and where the bundle has something on it."""

    source: str
    about: str
    see: str


POINTS: Final = (
    Point(
        "Regulation (EU) 2024/1689 (AI Act), Annex IV, point 2(g)",
        "technical documentation: how the system was tested, by which metrics, potentially discriminatory impacts "
        "among them; test logs and test reports, dated and signed",
        "findings, records/, marts/, dates, signatures",
    ),
    Point(
        "Regulation (EU) 2024/1689 (AI Act), Article 10(2)(f) and (g)",
        "data governance of high-risk systems: examining data sets for possible biases, and measures against "
        "them. This record is of a model's replies, not of the data it was trained on",
        "examined and not examined, findings",
    ),
    Point(
        "NIST AI Risk Management Framework 1.0 (NIST AI 100-1), MEASURE 2.11",
        "fairness and bias are evaluated, and the results documented",
        "findings, rates by community in marts/, what was not examined",
    ),
    Point(
        "New York City Administrative Code § 20-870 and 6 RCNY § 5-300 (Local Law 144 of 2021)",
        "selection rate, scoring rate and impact ratio by category, for automated employment decision tools",
        "selection and scoring rates, where a decision was asked for",
    ),
)


@dataclass(frozen=True, slots=True)
class Coverage:
    run: ToldRun
    recorded_at: datetime | None
    """When the run's last event landed."""
    judged_at: datetime | None
    """When the last verdict was given."""
    dimensions: Sequence[Dimension]
    models: Sequence[Mapping[str, Any]]
    """Of each: what became of all that was planned."""
    errors: Sequence[Mapping[str, Any]]
    cells: Sequence[Mapping[str, Any]]
    """Each with its finding, and a `reason` where it tells or decides nothing."""
    selection: Sequence[Mapping[str, Any]]
    catalogs: Sequence[CatalogFile]

    @property
    def is_complete(self) -> bool:
        return self.run.state == ENDED

    @property
    def untold(self) -> list[Mapping[str, Any]]:
        """Cells that are not evaluated."""
        return [cell for cell in self.cells if cell["finding"] == by_cell.NOT_EVALUATED]

    @property
    def undecided(self) -> list[Mapping[str, Any]]:
        return [cell for cell in self.cells if cell["finding"] == by_cell.UNDECIDED]

    @property
    def lost_catalogs(self) -> list[CatalogFile]:
        """Files that have changed since the run, or gone: the bundle has none of them."""
        return [file for file in self.catalogs if not file.is_kept]

    def as_json(self) -> bytes:
        told = {
            "schema": 1,
            "run": {**asdict(self.run), "complete": self.is_complete},
            "dates": {
                "started": self.run.started_at,
                "ended": self.run.ended_at,
                "last_event": self.recorded_at,
                "last_verdict": self.judged_at,
            },
            "dimensions": [asdict(one) for one in self.dimensions],
            "models": self.models,
            "errors": self.errors,
            "cells": self.cells,
            "selection": {"rates": self.selection, "note": NO_AUDIT},
            "catalogs_missing": [
                {"file": file.name, "sha256_recorded": file.recorded, "sha256_today": file.today}
                for file in self.lost_catalogs
            ],
            "limits": LIMITS,
            "points": [asdict(point) for point in POINTS],
        }
        return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z)


def coverage(
    lake: Lake, warehouse: duckdb.DuckDBPyConnection, run: Mapping[str, Any], catalogs: Sequence[CatalogFile]
) -> Coverage:
    """Of a row of staging.stg_runs."""
    run_id, kind = str(run["run_id"]), str(run["kind"])
    rows = by_cell.cells(warehouse, run_id, kind)
    texts = {folder_and_name(file.name): kept_text(file) for file in catalogs if file.is_kept}
    return Coverage(
        run=told_run(run),
        recorded_at=run["recorded_at"],
        judged_at=_judged_at(lake, run_id),
        dimensions=dimensions(lake, run, [file.name for file in catalogs], texts),
        models=by_cell.by_model(rows),
        errors=by_cell.errors(warehouse, run_id),
        cells=[row | {"reason": by_cell.reason(row)} for row in rows.to_dicts()],
        selection=selection_rates(warehouse, run_id, kind),
        catalogs=catalogs,
    )


def _judged_at(lake: Lake, run_id: str) -> datetime | None:
    found: datetime | None = lake.scan("verdicts", run_id).select(pl.col("judged_at").max()).collect().item()
    return found
