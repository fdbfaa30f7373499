"""An audit's report: differences, rates, ratios and the pairs that show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from biasgrid.tasks.report.findings import RunFacts, run_facts
from biasgrid.tasks.report.html.first_view import answer_values
from biasgrid.tasks.report.html.page import Ways, write_page
from biasgrid.tasks.report.languages import LANGUAGES
from biasgrid.warehouse.build.build import query, run_row
from biasgrid.warehouse.storage.lake import Lake

Row = dict[str, Any]
NAMED: Final = (
    pl.when(design="solo").then("signal").otherwise(pl.format("{} · {}", "signal", "design")).alias("signal")
)
"""A signal with its design, where that is no plain one."""
SHOWN: Final = 10
"""Flips of a group and signal that a page shows."""
SHIFTS: Final = """
    from marts.score_shifts
    where run_id = ?
    order by model, language, measure, design, identity_group, signal
"""
RATIOS: Final = """
    from marts.impact_ratios
    where run_id = ?
    order by model, language, design, identity_group, signal
"""
RATES: Final = """
    from marts.selection_rates
    where run_id = ?
    order by model, language, design, signal, not is_reference, identity_group
"""
ORDER: Final = "from marts.order_effects where run_id = ? order by model, language, design, signal"
RANKS: Final = """
    from marts.rank_after_scoring
    where run_id = ?
    order by model, language, design, identity_group, signal
"""
FLIPS: Final = """
    select flips.*, shifts.decision
    from marts.decision_flips as flips
    inner join marts.score_shifts as shifts using (run_id, comparison_id)
    where flips.run_id = ? and shifts.measure = 'decision'
    qualify row_number() over (
        partition by comparison_id order by abs(flips.difference) desc, document, pair
    ) <= ?
    order by model, language, design, signal, identity_group, abs(flips.difference) desc, document, pair
"""


@dataclass(frozen=True, slots=True)
class AuditReport:
    run: RunFacts
    shifts: Sequence[Row]
    ratios: Sequence[Row]
    rates: Sequence[Row]
    order: Sequence[Row]
    ranks: Sequence[Row]
    flips: Sequence[Row]


def write_audit_page(
    lake: Lake,
    run_id: str,
    out: Path,
    language: str = LANGUAGES[0],
    ways: Ways | None = None,
    *,
    texts: bool = True,
) -> list[Path]:
    """Writes `report.html`, one page that needs nothing else; without `texts`, it quotes no reply and names
    documents by hashes. Raises UserError for an unknown run."""
    report = AuditReport(run_facts(run_row(lake, run_id)), **findings_of(lake, run_id, SHOWN))
    given = {"report": report, "run": report.run, "shown": SHOWN, **answer_values(lake, run_id, language)}
    if not texts:
        flips = [row | {"document": row["document_id"]} for row in report.flips]
        given |= {"report": replace(report, flips=flips), "examples": []}
    return [write_page(out / "report.html", "audit.html.j2", language, ways=ways, **given)]


def findings_of(lake: Lake, run_id: str, most: int) -> dict[str, list[dict[str, Any]]]:
    """Rows of the marts, at most so many flips of each group and signal."""
    given = {"shifts": SHIFTS, "ratios": RATIOS, "rates": RATES, "order": ORDER, "ranks": RANKS}
    rows = {name: query(lake, sql, [run_id]) for name, sql in given.items()}
    rows["flips"] = query(lake, FLIPS, [run_id, most])
    return {name: own.with_columns(NAMED).to_dicts() for name, own in rows.items()}
