"""Compares a run with earlier ones from the marts: latest changes and trend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from biasgrid.warehouse.storage.lake import Lake

NIGHTS = 14
"""Number of runs in a trend, the newest included."""

CHANGES = """
    select
        changes.*,
        statistics.bounded_interval(difference, standard_error, templates, -1, 1).low as low,
        statistics.bounded_interval(difference, standard_error, templates, -1, 1).high as high
    from marts.regressions as changes
    where run_id = ?
    order by
        case finding when 'worse' then 0 when 'better' then 1 else 2 end,
        q_value nulls last,
        difference,
        model,
        requirement
"""
TREND = """
    with asked as (
        select requirement, model, nth as newest
        from marts.trend
        where run_id = ?
    ),

    nights as (
        select trend.*, asked.newest
        from marts.trend as trend
        inner join asked using (requirement, model)
        where trend.nth between asked.newest - ? + 1 and asked.newest
    ),

    final as (
        select
            model,
            requirement,
            list(rate order by nth) as rates,
            list(change order by nth) as changes,
            list(is_complete order by nth) as complete,
            arg_max(tolerance, nth) as tolerance,
            arg_max(point_finding, nth) as finding
        from nights
        group by model, requirement
        having count(*) > 1
    )

    select *
    from final
    order by
        case changes[-1] when 'worse' then 0 when 'better' then 1 else 2 end,
        case finding when 'met' then 1 else 0 end,
        model,
        requirement
"""


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """Comparison of a run with earlier ones."""

    changes: list[dict[str, Any]]
    """Rows of marts.regressions with the 95% interval of the difference, `low` to `high`, worse and more certain
    ones first; empty without an earlier run."""
    trend: list[dict[str, Any]]
    """One row a model × requirement that was asked before: `rates` (shares, 0–1, oldest first, None where nothing
    was evaluated), `changes` and `complete` of the same nights, `tolerance`, `finding`. The same order."""

    @property
    def worse(self) -> list[dict[str, Any]]:
        return [row for row in self.changes if row["finding"] == "worse"]


def compare_with_earlier(lake: Lake, run_id: str) -> EarlierRuns:
    """Comparison with earlier runs; raises UserError if there is no warehouse."""
    from biasgrid.warehouse.build.build import connect, fetch_rows  # loads DuckDB: none of a run's start

    with connect(lake) as warehouse:
        changed = fetch_rows(warehouse, CHANGES, [run_id])
        trend = fetch_rows(warehouse, TREND, [run_id, NIGHTS])
    return EarlierRuns(changed.to_dicts(), trend.to_dicts())
