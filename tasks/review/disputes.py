"""Finds undecided replies on which people disagree with each other or with the current verdict."""

from __future__ import annotations

import polars as pl

from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake

DISPUTES = """
    with opinions as (
        select
            run_id,
            cell_id,
            case_id,
            list({'reviewer': assessor, 'outcome': outcome, 'reason': reason} order by assessor) as opinions,
            count(distinct outcome) as outcomes,
            any_value(outcome) as any_outcome,
            max(assessed_at) as assessed_at
        from staging.stg_assessments
        where run_id = ? and purpose = 'blind' and assessor_kind = 'person' and state = 'given'
        group by run_id, cell_id, case_id
    ),

    decisions as (
        select run_id, cell_id, case_id, max(assessed_at) as decided_at
        from staging.stg_assessments
        where run_id = ? and purpose = 'decision'
        group by run_id, cell_id, case_id
    ),

    standing as (
        select * from staging.stg_verdicts where run_id = ? and level = 'instance'
    )

    select
        opinions.cell_id,
        opinions.case_id,
        opinions.opinions,
        standing.outcome as stands,
        standing.assessor_kind,
        standing.assessor,
        standing.reason
    from opinions
    inner join standing using (run_id, cell_id, case_id)
    left join decisions using (run_id, cell_id, case_id)
    where
        (opinions.outcomes > 1 or opinions.any_outcome is distinct from standing.outcome)
        and (decisions.decided_at is null or opinions.assessed_at > decisions.decided_at)
    order by opinions.cell_id, opinions.case_id
"""

UNAPPLIED = """
    select distinct assessments.cell_id
    from staging.stg_assessments as assessments
    anti join intermediate.int_decisions as decisions
        on
            assessments.run_id = decisions.run_id
            and assessments.cell_id = decisions.cell_id
            and assessments.case_id = decisions.case_id
            and assessments.assessed_at <= decisions.decided_at
    where assessments.run_id = ? and assessments.purpose = 'decision'
    order by assessments.cell_id
"""
"""Cells whose decisions were not yet applied because the process was killed."""


def disputes(lake: Lake, run_id: str) -> pl.DataFrame:
    """One row per disputed reply: cell_id, case_id, `opinions` (reviewer, outcome, reason), the current verdict
    `stands` and its assessor. Raises UserError if no warehouse has been built."""
    return query(lake, DISPUTES, [run_id] * DISPUTES.count("?"), texts_of=run_id)


def find_unapplied(lake: Lake, run_id: str) -> list[str]:
    """Cells whose verdicts do not yet follow every decision."""
    return list(query(lake, UNAPPLIED, [run_id])["cell_id"])
