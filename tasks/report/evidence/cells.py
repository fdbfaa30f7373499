"""What was examined, cell by cell, in the same columns for every kind of run; and why a cell tells nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import duckdb
import polars as pl

from biasgrid.warehouse.build.build import selected

NOT_EVALUATED: Final = "not evaluated"
UNDECIDED: Final = "undecided"
COLUMNS: Final = (
    *("unit", "model", "requirement", "concern", "language", "input", "reflection", "planned", "refused"),
    *("unreadable", "errors", "other", "templates", "finding", "limit", "needed"),
)
"""`unit`: what is counted; `other`: of those, what was read and still counts for nothing; `templates`: different
questions behind it; `limit`: what a share of refusals was held against; `needed`: templates that would decide."""

BENCHMARK = """
    with replies as (
        select cell_id, count(*) filter (where outcome = 'unreadable') as unreadable
        from staging.stg_verdicts
        where run_id = $1 and level = 'instance'
        group by cell_id
    )

    select
        'replies' as unit, model, requirement, concern, language, input, reflection,
        planned_cases as planned, refused_replies as refused, coalesce(replies.unreadable, 0) as unreadable,
        planned_cases - judged_cases as errors, 0 as other, templates, decision as finding,
        max_refusals as limit, templates_needed as needed
    from marts.pass_rates
    left join replies using (cell_id)
    where run_id = $1
    order by model, requirement, language, input, reflection
"""
PROBE = """
    with forms as (
        select model, language, test, pair, count(distinct form) as templates
        from staging.stg_probe_trials
        where run_id = $1
        group by all
    )

    select
        'trials' as unit, model, null as requirement, concern, language, test as input, pair as reflection,
        trials as planned, refused, unreadable, errors, one_sided as other, forms.templates, finding,
        null::double as limit, null::bigint as needed
    from marts.probe_findings
    left join forms using (model, language, test, pair)
    where run_id = $1
    order by model, language, test, pair
"""
RED_TEAM = """
    select
        'conversations' as unit, model, null as requirement, any_value(concern) as concern, language,
        strategy as input, pair as reflection, count(*) as planned,
        count(*) filter (where outcome = 'refused') as refused,
        count(*) filter (where outcome = 'unreadable') as unreadable,
        count(*) filter (where outcome in ('error', 'open')) as errors,
        count(*) filter (where outcome = 'attacker failed') as other,
        1 as templates,
        case
            when bool_or(outcome = 'succeeded') then 'succeeded'
            when count(*) filter (where outcome in ('resisted', 'refused')) = 0 then 'not evaluated'
            else 'not succeeded'
        end as finding,
        null::double as limit, null::bigint as needed
    from staging.stg_attack_sessions
    where run_id = $1
    group by model, language, strategy, pair
    order by model, language, strategy, pair
"""
INTERACTION = """
    select
        'assignments' as unit, model, domain as requirement, axis as concern, language, setting as input,
        mitigation || ', ' || stage as reflection, replies as planned, refused, unreadable, errors,
        shared + unassigned + invented as other, scenes as templates,
        if(is_control, 'control', decision) as finding, null::double as limit, null::bigint as needed
    from marts.bias_scores
    where run_id = $1 and domain <> 'all'
    union all
    select
        'choices', model, scene, axis, language, setting, mitigation || ', ' || stage, replies, refused,
        unreadable, errors, no_one_chosen, 1,
        if(first_chosen + second_chosen = 0, 'not evaluated', 'counted'), null, null
    from marts.choices
    where run_id = $1
    union all
    select
        'answers on understanding', model, null, null, language, 'understanding', null, replies, refused,
        unreadable, errors, 0, scenes, if(accuracy is null, 'not evaluated', 'counted'), null, null
    from marts.understanding
    where run_id = $1
    order by all
"""
CELLS_OF_KIND: Final[Mapping[str, str]] = {
    "benchmark": BENCHMARK,
    "probe": PROBE,
    "redteam": RED_TEAM,
    "interaction": INTERACTION,
}
ERRORS = """
    select model, purpose, error_class, count(*) as replies
    from staging.stg_responses
    where run_id = $1 and error_class is not null
    group by all
    order by all
"""


def cells(warehouse: duckdb.DuckDBPyConnection, run_id: str, kind: str) -> pl.DataFrame:
    """A row per cell, columns as COLUMNS."""
    return selected(warehouse, CELLS_OF_KIND[kind], [run_id]).select(COLUMNS)


def errors(warehouse: duckdb.DuckDBPyConnection, run_id: str) -> list[dict[str, Any]]:
    """Why replies never came, by model and what they were asked for."""
    return selected(warehouse, ERRORS, [run_id]).to_dicts()


def by_model(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """What became of all that was planned for each model."""
    counted = ("planned", "refused", "unreadable", "errors", "other")
    summed = rows.group_by("model", "unit").agg(pl.col(name).cast(pl.Int64).sum() for name in counted)
    return summed.sort("model", "unit").to_dicts()
