"""Why a cell tells nothing, or decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.report.evidence.cells import NOT_EVALUATED, UNDECIDED
from tasks.report.evidence.wording import Wording

Cell = Mapping[str, Any]
LEAST_SCENES = 2
"""Of a score: one scene shows how it went there, and nothing of what it hangs on."""
LOST = ("refused", "unreadable", "errors", "other")


def reason(cell: Cell, wording: Wording) -> str | None:
    """None where it does tell and decide something."""
    if cell["finding"] == UNDECIDED:
        return _undecided(cell, wording)
    return _not_evaluated(cell, wording) if cell["finding"] == NOT_EVALUATED else None


def _undecided(cell: Cell, wording: Wording) -> str:
    asked, needed = wording.count(cell["templates"]), cell["needed"]
    if not needed:
        return wording.text("why.too.few", templates=asked)
    return wording.text("why.decide", templates=asked, needed=wording.count(needed))


def _not_evaluated(cell: Cell, wording: Wording) -> str:
    of = {"planned": wording.count(cell["planned"]), "unit": wording.word(cell["unit"], "unit")}
    came = cell["planned"] - cell["errors"]
    if came <= 0:
        return wording.text("why.none.ended", **of)
    if cell["limit"] is not None and cell["refused"] > cell["limit"] * came:
        told = {"refused": wording.count(cell["refused"]), "limit": wording.whole_share(cell["limit"])}
        return wording.text("why.refused", **told, **of)
    lost = [wording.text(f"lost.{name}", n=wording.count(cell[name])) for name in LOST if cell[name]]
    if not lost and cell["unit"] == "assignments" and cell["templates"] < LEAST_SCENES:
        return wording.text("why.scenes", scenes=wording.count(cell["templates"]), **of)
    return wording.text("why.lost", lost=", ".join(lost), **of) if lost else wording.text("why.nothing", **of)
