"""Examined cells in the same columns for every kind of run, and reasons for cells without a finding."""

from __future__ import annotations

from typing import Any, Final

import duckdb
import polars as pl

from biasgrid.tasks.report.evidence.impact_ratios import with_intervals
from biasgrid.tasks.report.kinds.report_kind import report_kind
from biasgrid.warehouse.build.build import fetch_rows

LEAST: Final = 0.02
"""Share of all people compared below which a category has no ratio: of few people, a ratio proves little."""

RATES = """
    with categories as ({of_kind}),

    shares as (
        select
            *,
            people / nullif(sum(people) over comparison, 0) as share,
            chosen / nullif(people, 0) as rate
        from categories
        window comparison as (partition by rate_of, model, language, what)
    )

    select
        * exclude (share),
        share < {least} as is_left_out,
        if(
            share < {least},
            null,
            rate / nullif(max(rate) filter (where share >= {least}) over comparison, 0)
        ) as impact_ratio
    from shares
    window comparison as (partition by rate_of, model, language, what)
    order by rate_of, model, language, what, category
"""


def selection_rates(warehouse: duckdb.DuckDBPyConnection, run_id: str, kind: str) -> list[dict[str, Any]]:
    """A row per category of each comparison, with rate, impact ratio and interval; none without decisions."""
    rates = report_kind(kind).rates
    if not rates:
        return []
    asked = RATES.format(of_kind=rates, least=LEAST)
    return with_intervals(fetch_rows(warehouse, asked, [run_id]).to_dicts())


NOT_EVALUATED: Final = "not evaluated"
UNDECIDED: Final = "undecided"
COLUMNS: Final = (
    *("unit", "model", "requirement", "concern", "language", "input", "reflection", "planned", "refused"),
    *("unreadable", "errors", "other", "templates", "finding", "limit", "needed"),
)
"""`unit`: what is counted; `other`: of those, what was read and still counts for nothing; `templates`: different
questions behind it; `limit`: what a share of refusals was held against; `needed`: templates that would decide."""

ERRORS = """
    select model, purpose, error_class, count(*) as replies
    from staging.stg_responses
    where run_id = $1 and error_class is not null
    group by all
    order by all
"""


def cells(warehouse: duckdb.DuckDBPyConnection, run_id: str, kind: str) -> pl.DataFrame:
    """A row per cell, columns as COLUMNS."""
    return fetch_rows(warehouse, report_kind(kind).cells, [run_id]).select(COLUMNS)


def errors(warehouse: duckdb.DuckDBPyConnection, run_id: str) -> list[dict[str, Any]]:
    """Reasons for missing replies, by model and purpose."""
    return fetch_rows(warehouse, ERRORS, [run_id]).to_dicts()


def by_model(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """What became of all that was planned for each model."""
    counted = ("planned", "refused", "unreadable", "errors", "other")
    summed = rows.group_by("model", "unit").agg(pl.col(name).cast(pl.Int64).sum() for name in counted)
    return summed.sort("model", "unit").to_dicts()
