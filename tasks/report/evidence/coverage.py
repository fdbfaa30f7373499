"""The coverage record: examined and unexamined cells with reason, time and source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any, Final

import duckdb
import orjson
import polars as pl

from biasgrid.tasks.report.evidence import cells as by_cell
from biasgrid.tasks.report.evidence.cells import NOT_EVALUATED, UNDECIDED, selection_rates
from biasgrid.tasks.report.evidence.dimensions import Dimension, dimensions, folder_and_name
from biasgrid.tasks.report.evidence.sources import CatalogFile, kept_text
from biasgrid.tasks.report.figures import MOST_TEMPLATES, format_score, share
from biasgrid.tasks.report.findings import RunFacts, run_facts
from biasgrid.tasks.report.html.page import Speech
from biasgrid.tasks.report.kinds.report_kind import report_kind
from biasgrid.tasks.report.languages import LANGUAGES, words
from biasgrid.warehouse.storage.lake import Lake

ABSENT = "–"


@dataclass(frozen=True, slots=True)
class Wording:
    language: str

    def text(self, key: str, /, **given: object) -> str:
        """Raises KeyError for a text that the language does not have, and where something is not given."""
        return words("record", self.language)[key].format(**given)

    def word(self, value: object, kind: str = "finding") -> str:
        """A value of the warehouse as the record or other pages call it; what a catalog alone knows, as it is."""
        spoken = words("pages", self.language) | words("record", self.language)
        known = (spoken[key] for key in (f"{kind}.{value}", f"value.{value}") if key in spoken)
        return ABSENT if value is None else next(known, str(value))

    def words(self, text: str | None, kinds: Sequence[str]) -> str:
        """Values of several kinds, in one text with a comma between them; of kind `` they are names."""
        if text is None:
            return ABSENT
        parts = text.split(", ", max(len(kinds) - 1, 0))
        pairs = zip_longest(parts, kinds[: len(parts)], fillvalue="")
        return ", ".join(self.word(part, kind) if kind else part for part, kind in pairs)

    def count(self, number: int) -> str:
        return self._figures(f"{number:,}")

    def ratio(self, value: float | None) -> str:
        return ABSENT if value is None else self._figures(f"{value:.2f}")

    def share(self, value: float | None) -> str:
        return self._figures(share(value))

    def whole_share(self, value: float) -> str:
        return self._figures(f"{value:.0%}")

    def score(self, value: float | None) -> str:
        return self._figures(format_score(value))

    def _figures(self, number: str) -> str:
        return Speech(self.language).figures(number)


Cell = Mapping[str, Any]
LEAST_SCENES = 2
"""Of a score: one scene shows how it went there, and nothing of what it hangs on."""
LOST = ("refused", "unreadable", "errors", "other")


def reason(cell: Cell, wording: Wording) -> str | None:
    """Why a cell has no finding, or none that is decided; else None."""
    if cell["finding"] == UNDECIDED:
        return _explain_undecided(cell, wording)
    return _explain_not_evaluated(cell, wording) if cell["finding"] == NOT_EVALUATED else None


def _explain_undecided(cell: Cell, wording: Wording) -> str:
    asked, needed = wording.count(cell["templates"]), cell["needed"]
    if not needed:
        return wording.text("why.too.few", templates=asked)
    if cell["needed"] > MOST_TEMPLATES:
        return wording.text("why.too.near", templates=asked)
    return wording.text("why.decide", templates=asked, needed=wording.count(needed))


def _explain_not_evaluated(cell: Cell, wording: Wording) -> str:
    of = {"planned": wording.count(cell["planned"]), "unit": wording.word(cell["unit"], "unit")}
    came = cell["planned"] - cell["errors"]
    if came <= 0:
        return wording.text("why.none.ended", **of)
    if cell["limit"] is not None and cell["refused"] > cell["limit"] * came:
        parts = {"refused": wording.count(cell["refused"]), "limit": wording.whole_share(cell["limit"])}
        return wording.text("why.refused", **parts, **of)
    lost = [wording.text(f"lost.{name}", n=wording.count(cell[name])) for name in LOST if cell[name]]
    if not lost and cell["unit"] == "assignments" and cell["templates"] < LEAST_SCENES:
        return wording.text("why.scenes", scenes=wording.count(cell["templates"]), **of)
    return wording.text("why.lost", lost=", ".join(lost), **of) if lost else wording.text("why.nothing", **of)


ENDED: Final = "completed"
LIMITS: Final = ("limit.prompts", "limit.unknown", "limit.verdicts")
POINTS: Final = ("annex", "data", "nist", "city")
"""Texts that such a record can serve: of each a source, what it speaks of, and where the bundle has any of it."""
ASPECTS: Final = ("source", "about", "see")


@dataclass(frozen=True, slots=True)
class Coverage:
    wording: Wording
    run: RunFacts
    recorded_at: datetime | None
    """When the run's last event landed."""
    judged_at: datetime | None
    """When the last verdict was given."""
    dimensions: Sequence[Dimension]
    models: Sequence[Mapping[str, Any]]
    """Of each: what became of all that was planned."""
    errors: Sequence[Mapping[str, Any]]
    cells: Sequence[Mapping[str, Any]]
    """Each with its finding, and a `reason` if it has none or is undecided."""
    selection: Sequence[Mapping[str, Any]]
    catalogs: Sequence[CatalogFile]

    @property
    def is_complete(self) -> bool:
        return self.run.state == ENDED

    @property
    def not_evaluated(self) -> list[Mapping[str, Any]]:
        """Cells that are not evaluated."""
        return [cell for cell in self.cells if cell["finding"] == by_cell.NOT_EVALUATED]

    @property
    def undecided(self) -> list[Mapping[str, Any]]:
        return [cell for cell in self.cells if cell["finding"] == by_cell.UNDECIDED]

    @property
    def lost_catalogs(self) -> list[CatalogFile]:
        """Files that have changed since the run, or gone: the bundle has none of them."""
        return [file for file in self.catalogs if not file.is_kept]

    @property
    def limits(self) -> list[str]:
        return [self.wording.text(key) for key in (*report_kind(self.run.kind).limits, *LIMITS)]

    @property
    def points(self) -> list[list[str]]:
        """Of each text its ASPECTS."""
        return [[self.wording.text(f"point.{name}.{aspect}") for aspect in ASPECTS] for name in POINTS]

    def as_json(self) -> bytes:
        parts = {
            "schema": 2,
            "language": self.wording.language,
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
            "selection": {"rates": self.selection, "note": self.wording.text("selection.note")},
            "catalogs_missing": [
                {"file": file.name, "sha256_recorded": file.recorded, "sha256_today": file.today}
                for file in self.lost_catalogs
            ],
            "limits": self.limits,
            "points": [dict(zip(ASPECTS, point, strict=True)) for point in self.points],
        }
        return orjson.dumps(parts, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z)


def coverage(
    lake: Lake,
    warehouse: duckdb.DuckDBPyConnection,
    run: Mapping[str, Any],
    catalogs: Sequence[CatalogFile],
    language: str = LANGUAGES[0],
) -> Coverage:
    """Of a row of staging.stg_runs."""
    run_id, kind = str(run["run_id"]), str(run["kind"])
    wording, rows = Wording(language), by_cell.cells(warehouse, run_id, kind)
    texts = {folder_and_name(file.name): kept_text(file) for file in catalogs if file.is_kept}
    return Coverage(
        wording=wording,
        run=run_facts(run),
        recorded_at=run["recorded_at"],
        judged_at=_judged_at(lake, run_id),
        dimensions=dimensions(lake, run, [file.name for file in catalogs], texts),
        models=by_cell.by_model(rows),
        errors=by_cell.errors(warehouse, run_id),
        cells=[row | {"reason": reason(row, wording)} for row in rows.to_dicts()],
        selection=selection_rates(warehouse, run_id, kind),
        catalogs=catalogs,
    )


def _judged_at(lake: Lake, run_id: str) -> datetime | None:
    found: datetime | None = lake.scan("verdicts", run_id).select(pl.col("judged_at").max()).collect().item()
    return found
