"""`biasgrid review --adjudicate`: a person decides where verdicts differ, with a reason, and findings follow."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from biasgrid.flows.review.review import Desk, refreshed
from biasgrid.flows.review.screen import DECIDING_KEYS, QUIT, SKIP, Screen
from biasgrid.flows.terminal.plurals import format_count
from biasgrid.tasks.evaluate.cell import decide_again
from biasgrid.tasks.review.disputes import disputes, unapplied
from biasgrid.tasks.review.record import Answer, Record
from biasgrid.tasks.review.units import Shown
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.assessments import DECISION
from biasgrid.warehouse.storage.run_lock import RunLock

DECIDING = "pfrusmq"


def adjudicate(desk: Desk, reviewer: str, screen: Screen) -> int:
    """Shows what is disputed and lands the decisions, which supersede the verdicts that stood; returns how many.

    Each lands at once; verdicts, templates and the warehouse follow at the end, or the next time where this ended
    early. Raises RunBusy where the run is under way.
    """
    with RunLock(desk.lake, desk.run_id):
        refreshed(desk.lake)
        _apply(desk, unapplied(desk.lake, desk.run_id))
        record = Record(desk.lake, desk.run_id, desk.evaluation_id, reviewer, DECISION)
        open_ones = disputes(desk.lake, desk.run_id).join(desk.units, on=["cell_id", "case_id"])
        screen.tell(f"{format_count(open_ones.height, 'reply')} disputed in run {desk.run_id}; {reviewer} decides")
        try:
            _decide(desk, open_ones.to_dicts(), desk.shown(open_ones), record, screen)
        finally:
            _apply(desk, {row["cell_id"] for row in record.rows})
    return len(record.rows)


def _decide(
    desk: Desk, open_ones: list[dict[str, Any]], texts: Mapping[str, Shown], record: Record, screen: Screen
) -> None:
    for place, unit in enumerate(open_ones, 1):
        title = f"{place} of {len(open_ones)}"
        key = screen.answered(title, texts[unit["unit_id"]], DECIDING_KEYS, DECIDING, tuple(_said(unit)))
        if key.name == QUIT:
            return
        reason = "" if key.name == SKIP else _reason(screen)
        if reason and key.outcome:
            record.give((unit, Answer(key.outcome, reason)))


def _said(unit: Mapping[str, Any]) -> Iterator[str]:
    """Who said what: those who decide see it all."""
    by = " ".join(str(unit[name]) for name in ("assessor_kind", "assessor") if unit[name])
    yield f"stands: {unit['stands']} ({by}) – {unit['reason'] or 'no reason given'}"
    for opinion in unit["opinions"]:
        why = f" – {opinion['reason']}" if opinion["reason"] else ""
        yield f"{opinion['reviewer']}: {opinion['outcome']}{why}"


def _reason(screen: Screen) -> str:
    """Why; asked for twice, since a decision without a reason is none."""
    return screen.line("reason (needed): ") or screen.line("a decision needs a reason, empty leaves it open: ")


def _apply(desk: Desk, cells: Collection[str]) -> None:
    for cell_id in sorted(cells):
        decide_again(desk.lake, desk.run_id, cell_id, desk.evaluation_id)
    if cells:
        build(desk.lake)
