"""Answers of made-up runs: models with checks of given states and rates."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from biasgrid.tasks.report.answer import Answer, ModelAnswer
from biasgrid.tasks.report.checks import Check
from biasgrid.tasks.report.phrases import Phrases
from biasgrid.tasks.report.verdicts import State
from biasgrid.warehouse.storage.runs import Run

RATES: Mapping[State, float | None] = {"met": 1.0, "undecided": 1.0, "not met": 0.4, "not evaluated": None}


def make_check(state: State, **fields: Any) -> Check:
    """A requirement's check; what is not given follows from its state."""
    value = fields.setdefault("value", RATES[state])
    known = value is not None
    rest: dict[str, Any] = {
        "model": "m/one",
        "topic": "sexism",
        "name": "genders-alike",
        "language": "en_us",
        "by_point": "met" if known and value >= 0.9 else "not met",
        "decided": state,
        "finding": "met",
        "counted": 20,
        "total": 20,
        "counts": "tests passed",
        "measure": "share",
        "unit": "share",
        "low": value - 0.18 if known else None,
        "high": value,
        "bar": 0.9,
        "bar_name": "tolerance",
        "lost": {},
        "needed": 38 if state == "undecided" else None,
        "templates": 20,
        "refused": 0.0 if known else 1.0,
        "replies": 40,
    }
    return Check(**rest | fields)


def make_answer(
    models: Mapping[str, Sequence[Check]], kind: str = "benchmark", state: str = "completed", **more: Any
) -> Answer:
    """Of models with these checks, in the order that reports have."""
    resolved = '{"name": "mine", "scenario": {"templates": 5}}'
    began = datetime(2026, 11, 23, 4, 30, tzinfo=UTC)
    run = Run("01M82WQ3XYZ", state, kind, "{}", resolved, "{}", "{}", 7, began)  # type: ignore[arg-type]
    found = sorted(
        (ModelAnswer(name, own, Phrases(kind)) for name, own in models.items()), key=lambda one: one.support
    )
    known = {"source": "mine", "available": {}} | more
    harmed = known.pop("harmed", {})
    return Answer(run, "mine", found, 5000, 0.0, harmed, "01M82WQ3", **known)
