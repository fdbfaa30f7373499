"""Asks once more what became worse, so that no night alarms about noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from biasgrid.flows.benchmark.previous_runs import EarlierRuns
from biasgrid.flows.scheduled.causes import describe_effect
from biasgrid.tasks.aggregate.compare import compare
from biasgrid.warehouse.storage.lake import Lake

CONFIRMED, UNCONFIRMED = "worse", "not confirmed"
Pair = tuple[str, str]
"""Requirement and model."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The comparison with earlier runs after what was worse has been asked again."""

    before: EarlierRuns
    """With the finding `not confirmed` of what was not worse again."""
    notes: Mapping[Pair, str]
    """What asking again has shown."""


def pair_of(row: Mapping[str, Any]) -> Pair:
    return row["requirement"], row["model"]


def scenario_of_worse(
    scenario_resolved: str, worse: Sequence[Mapping[str, Any]], caps: Mapping[str, float | int | None]
) -> dict[str, Any]:
    """The scenario of a run, of what became worse alone and within `caps`; replies are asked for anew."""
    document: dict[str, Any] = orjson.loads(scenario_resolved)
    models, names = ({row[key] for row in worse} for key in ("model", "requirement"))
    settings = document["scenario"]
    settings |= {"models": [model for model in settings["models"] if model in models], **caps}
    settings |= {"reuse": "run", "max_age": None}
    document["requirements"] = [each for each in document["requirements"] if each["name"] in names]
    return document


def read_confirmation(lake: Lake, before: EarlierRuns, run_id: str) -> Confirmed:
    """The comparison of run `run_id`, which asked again, with the runs that the night was compared with."""
    again = {
        (earlier, *pair_of(row)): row
        for earlier in dict.fromkeys(row["earlier_run_id"] for row in before.worse)
        for row in compare(lake, earlier, run_id).tables["requirements"].iter_rows(named=True)
    }
    found = {pair_of(row): again.get((row["earlier_run_id"], *pair_of(row)), {}) for row in before.worse}
    notes = {pair: _note(row) for pair, row in found.items()}
    refuted = {pair for pair, row in found.items() if row.get("change") not in (CONFIRMED, "not compared", None)}
    return Confirmed(replace(before, changes=list(_mark_refuted(before.changes, refuted))), notes)


def skip_confirmation(before: EarlierRuns, why: str) -> Confirmed:
    """As found, where nothing could be asked again."""
    return Confirmed(before, {pair_of(row): f"not asked again: {why}" for row in before.worse})


def _note(row: Mapping[str, Any]) -> str:
    if row.get("change") in (None, "not compared"):
        return f"asked again without a result: {row.get('why_not_compared') or 'not compared'}"
    shown = {**row, "rate": row["later_rate"], "earlier_rate": row["earlier_rate"]}
    return f"asked again, it {describe_effect(shown)}"


def _mark_refuted(changes: Iterable[dict[str, Any]], refuted: set[Pair]) -> Iterable[dict[str, Any]]:
    for row in changes:
        is_refuted = row["finding"] == "worse" and pair_of(row) in refuted
        yield {**row, "finding": UNCONFIRMED} if is_refuted else row
