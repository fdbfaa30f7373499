"""The marts as a page reads them: the columns that it shows, of one run or of all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import duckdb
import orjson
import polars as pl

from biasgrid.catalogs.text_safety import JOINERS, UNSEEN, json_escape
from biasgrid.tasks.report.findings import recorded_object, run_facts
from biasgrid.warehouse.build.build import fetch_rows
from biasgrid.warehouse.storage.export_files import as_number

DIGITS = 6
"""Decimal places that a number keeps: more than a page shows, less than a double's seventeen."""
UNSAFE = re.compile(f"[<>&{UNSEEN}{JOINERS}]")
"""Signs that could end a script or a line of one, or make an editor show another order than the file's."""


def as_chunk(name: str, content: Mapping[str, Any]) -> str:
    """The text of `data/<name>.js`."""
    text = orjson.dumps(content, default=as_number, option=orjson.OPT_NON_STR_KEYS).decode()
    return f"biasgrid({orjson.dumps(name).decode()},{UNSAFE.sub(lambda found: json_escape(found[0]), text)});\n"


def columns(rows: pl.DataFrame) -> dict[str, list[Any]]:
    """A frame by its columns, numbers rounded to what a page can show."""
    rounded = rows.with_columns(pl.selectors.decimal().cast(pl.Float64)).with_columns(
        pl.selectors.float().round(DIGITS)
    )
    return {column.name: column.to_list() for column in rounded.iter_columns()}


Row = Mapping[str, Any]

FINDINGS = """
    select
        requirement, concern, model, tolerance, refusals_rule, cells, cells_met, cells_not_met,
        cells_not_evaluated, planned_cases, judged_cases, coverage, coverage_floor, is_complete, tests, passed,
        failed, refused, unreadable, errors, incomparable, unjudged, counted_tests, counted_passed, measure,
        refusal_rate, decided_by_people, overridden_by_people, judge_decided, judge_overturned, point_finding,
        worst_language,
        counted_templates, measured, measured_passed, rate, interval_low, interval_high, decision,
        templates_needed, coalesce(parity_because, not_evaluated_because) as not_evaluated_because
    from marts.requirement_findings
    where run_id = ?
    order by concern, requirement, model
"""
LANGUAGES = """
    select
        requirement, concern, model, language, tolerance, measure, counted_templates, rate, interval_low,
        interval_high, decision, templates_needed, not_evaluated_because
    from marts.language_findings
    where run_id = ?
    order by concern, requirement, model, language
"""
CELLS = """
    select
        cell_id, requirement, concern, model, language, input, reflection, tolerance, max_refusals, planned_cases,
        judged_cases, tests, passed, failed, refused, unreadable, errors, incomparable, unjudged, counted_tests,
        counted_passed, measure, measured, measured_passed, rate, refusal_rate, counted_templates, interval_low,
        interval_high, point_finding, decision, templates_needed, not_evaluated_because
    from marts.pass_rates
    where run_id = ?
    order by requirement, language, input, reflection, model, cell_id
"""
CONTRASTS = """
    select
        requirement, concern, model, language, measure, slot, community, templates, replies, level,
        level_of_others, difference, difference_low, difference_high, q_value, finding
    from marts.community_contrasts
    where run_id = ?
    order by finding not in ('lower', 'higher'), abs(difference) desc, requirement, model, language, measure, slot,
        community
"""
REFUSALS = """
    select model, concern, community, replies, refused, refusal_rate
    from marts.refusals
    where run_id = ?
    order by concern, community, model
"""
COSTS = """
    select
        model, requests, judge_requests, attempts, reused, failed, input_tokens, output_tokens, cost_usd,
        requests_without_price, mean_latency_ms, seconds
    from marts.costs
    where run_id = ?
    order by model
"""
ERRORS = """
    select model, error_class, count(*) as failures
    from staging.stg_responses
    where run_id = ? and is_answer and error_class is not null
    group by all
    order by failures desc, model, error_class
"""
AGREEMENT = """
    select
        scope, concern, language, model, reference_kind, reference, assessor_kind, assessor, asked,
        reference_silent, assessor_skipped, assessor_refused, assessor_unreadable, assessor_failed, n,
        observed_agreement, sensitivity, sensitivity_low, sensitivity_high, specificity, specificity_low,
        specificity_high, cohens_kappa, cohens_kappa_low, cohens_kappa_high, gwets_ac1, gwets_ac1_low,
        gwets_ac1_high, raw_pass_rate, corrected_rate, corrected_rate_low, corrected_rate_high
    from marts.judge_agreement
    where run_id = ?
    order by list_position(['person', 'oracle', 'model'], reference_kind), reference, assessor_kind desc, assessor,
        concern, language, model
"""
NIGHTS = 90
"""Runs of one requirement and model that a trend goes back, at most."""
TREND = """
    select
        run_id, requirement, concern, model, is_complete, tolerance, measure, rate, decision, breaks_line,
        earlier_run_id, difference, q_value, change, started_at
    from marts.trend
    where run_id <= coalesce(?, run_id)
    qualify row_number() over (partition by requirement, model order by nth desc) <= ?
    order by concern, requirement, model, nth
"""
MOST_PAIRED = 12
"""Models of a run whose pairs are compared in advance; pairs of more are compared by `biasgrid compare`."""
PAIRS = """
    with rates as (
        select
            rates.requirement, rates.model, rates.language, rates.cluster,
            rates.measured_passed as passed, rates.measured,
            hash(rates.language, rates.template_id, templates.prompts_key, templates.rules_key) as template
        from intermediate.int_template_rates as rates
        inner join intermediate.int_templates as templates using (run_id, cell_id, template_id)
        where
            rates.measured > 0 and rates.run_id = $1
            and (select count(distinct model) from marts.requirement_findings where run_id = $1) <= $2
    ),

    clusters as (
        select
            a.requirement, a.model as a, b.model as b, a.language, a.cluster,
            sum(a.passed) / sum(a.measured) as a_rate, sum(b.passed) / sum(b.measured) as b_rate,
            sum(a.measured) = 1 and sum(b.measured) = 1 as is_one_test
        from rates as a
        inner join rates as b using (requirement, template)
        where a.model < b.model
        group by all
    ),

    compared as (
        select
            requirement, a, b, count(*) as templates, statistics.mean_of_shares(a_rate) as a_rate,
            statistics.mean_of_shares(b_rate) as b_rate,
            statistics.mean_of_shares(b_rate - a_rate) as difference,
            statistics.se_of_shares(b_rate - a_rate) as standard_error,
            if(
                bool_and(is_one_test),
                statistics.mcnemar_p_value(
                    count(*) filter (where b_rate > a_rate), count(*) filter (where b_rate < a_rate)
                ),
                statistics.paired_p_value(difference, standard_error, templates)
            ) as p_value
        from clusters
        group by requirement, a, b
    ),

    pairs as (
        select
            *, concat_ws(chr(9), a, b) as pair,
            statistics.bounded_interval(difference, standard_error, templates, -1, 1) as of_difference
        from compared
    )

    select
        tested.requirement, a, b, templates, a_rate, b_rate, difference, of_difference.low as low,
        of_difference.high as high, q_value,
        statistics.change(difference, q_value, least_drop := criteria.least_drop) as change
    from statistics.with_q_values('pairs', p_value, pair) as tested
    inner join staging.stg_criteria as criteria
        on criteria.run_id = $1 and tested.requirement = criteria.requirement
    order by a, b, tested.requirement
"""
"""Two models of a run on the same templates; `better`: the second passes more."""
LEADERBOARD = """
    select
        findings.requirement, board.concern, board.model, board.run_id, findings.started_at, findings.tolerance,
        findings.tests, findings.counted_tests, findings.counted_passed, findings.measure,
        findings.refusal_rate, findings.coverage, findings.is_complete, findings.point_finding,
        findings.judge_decided, findings.judge_overturned,
        findings.worst_language, findings.counted_templates, findings.rate, findings.interval_low,
        findings.interval_high, findings.decision, findings.templates_needed,
        coalesce(findings.parity_because, findings.not_evaluated_because) as not_evaluated_because,
        concat_ws(
            chr(9), findings.requirement, findings.tolerance, findings.measure, asked.template_set::varchar
        ) as comparable
    from marts.leaderboard as board
    inner join marts.requirement_findings as findings using (run_id, model, concern)
    left join intermediate.int_asked_templates as asked using (run_id, requirement, model)
    order by concern, requirement, model
"""
RUNS = """
    with findings as (
        select
            run_id,
            count(*) as findings,
            count(*) filter (decision = 'met') as met,
            count(*) filter (decision = 'not met') as not_met,
            count(*) filter (decision = 'undecided') as undecided,
            count(*) filter (decision = 'not evaluated') as not_evaluated
        from marts.requirement_findings
        group by run_id
    ),

    worse as (
        select run_id, count(*) as worse from marts.regressions where finding = 'worse' group by run_id
    )

    select runs.*, findings.* exclude (run_id), worse.worse
    from staging.stg_runs as runs
    left join findings using (run_id)
    left join worse using (run_id)
    order by runs.run_id desc
"""


def of_run(warehouse: duckdb.DuckDBPyConnection, select: str, run_id: str) -> pl.DataFrame:
    return fetch_rows(warehouse, select, [run_id])


def trend(warehouse: duckdb.DuckDBPyConnection, run_id: str | None = None) -> pl.DataFrame:
    """Series of every requirement and model, or of those that a run asked, up to it."""
    rows = fetch_rows(warehouse, TREND, [run_id, NIGHTS])
    if run_id is None:
        return rows
    asked = rows.filter(pl.col("run_id") == run_id).select("requirement", "model")
    return rows.join(asked, on=["requirement", "model"], how="semi", maintain_order="left")


def head(row: Row) -> dict[str, Any]:
    """A row of staging.stg_runs for a page's script."""
    run = run_facts(row)
    return asdict(run) | {
        "versions": dict(run.shown_versions),
        "catalog": len(recorded_object(row["catalog_hashes"])),
        "rationales": {
            str(one.get("name")): str(one.get("rationale") or "")
            for one in _requirements(recorded_object(row["scenario_resolved"]))
        },
    }


def not_planned(row: Row, cells: pl.DataFrame) -> list[dict[str, str]]:
    """What the scenario asks for and nothing was planned of: combinations that the library has no template for."""
    keys = ("requirement", "language", "input", "reflection")
    planned = set(cells.select(keys).iter_rows())
    asked = (
        (str(one.get("name")), language, given, reflection)
        for one in _requirements(recorded_object(row["scenario_resolved"]))
        for language in one.get("languages") or ()
        for given in one.get("inputs") or ()
        for reflection in one.get("reflections") or ()
    )
    return [dict(zip(keys, one, strict=True)) for one in asked if one not in planned]


def _requirements(resolved: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = resolved.get("requirements")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
