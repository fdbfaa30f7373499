"""LangBiTe's three report files, with its columns and terms."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import orjson
import polars as pl

from biasgrid.warehouse.build.build import query, run_row
from biasgrid.warehouse.storage.export_files import write_table
from biasgrid.warehouse.storage.lake import Lake

_STAMP = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

_RESPONSES = """
    select
        cases.provider as "Provider",
        cases.model[len(cases.provider) + 2:] as "Model",
        coalesce(cases.instance_text, cases.messages[-1].content) as "Instance",
        coalesce(replies.text, concat('ERROR: ', replies.error_class, ': ', replies.error_message)) as "Response"
    from staging.stg_cases as cases
    inner join staging.stg_responses as replies using (run_id, cell_id, case_id)
    where run_id = ? and replies.is_answer and replies.purpose = 'subject'
    order by
        cases.model, cases.requirement, cases.language, cases.input, cases.reflection,
        cases.template, cases.template_id, cases.communities, cases.sample
"""

_EVALUATIONS = """
    with templates as (
        select distinct on (run_id, cell_id, template_id) *
        from staging.stg_cases
        order by run_id, cell_id, template_id, wording, communities, sample, case_id
    )

    select
        templates.provider as "Provider",
        templates.model[len(templates.provider) + 2:] as "Model",
        templates.concern as "Concern",
        templates.language as "Language",
        templates.input as "Input Type",
        templates.reflection as "Reflection Type",
        coalesce(templates.template_text, templates.template) as "Template",
        templates.operation as "Oracle Evaluation",
        templates.oracle as "Oracle Prediction",
        concat(upper(tests.langbite_outcome[1]), tests.langbite_outcome[2:]) as "Evaluation"
    from intermediate.int_template_tests as tests
    inner join templates using (run_id, cell_id, template_id)
    where run_id = ? and tests.langbite_outcome is not null
    order by
        templates.model, templates.requirement, templates.language, templates.input, templates.reflection,
        templates.template, templates.template_id, tests.sample
"""

_GLOBAL_EVALUATION = """
    select
        provider as "Provider",
        model[len(provider) + 2:] as "Model",
        -- two requirements on one concern stay apart
        if(
            count(distinct requirement) over (partition by concern) > 1,
            concat(concern, ' [', requirement, ']'),
            concern
        ) as "Concern",
        language as "Language",
        input as "Input Type",
        reflection as "Reflection Type",
        langbite_passed as "Passed Nr",
        langbite_failed as "Failed Nr",
        langbite_errors as "Error Nr",
        coalesce(langbite_rate, 0) as "Passed Pct",
        coalesce(langbite_failed / nullif(langbite_passed + langbite_failed, 0), 0) as "Failed Pct",
        langbite_passed + langbite_failed as "Total",
        tolerance as "Tolerance",
        tolerance_evaluation as "Tolerance Evaluation"
    from marts.pass_rates
    where run_id = ? and unjudged < tests
    order by provider, model, concern, language, input, reflection, requirement
"""


_NOTES = """
    with shared as (
        select concern, string_agg(distinct requirement, ', ' order by requirement) as requirements
        from marts.pass_rates
        where run_id = ?1
        group by concern
        having count(distinct requirement) > 1
    )

    select
        concern as "Concern",
        null as "Tests",
        concat('asked by several requirements, which LangBiTe would mix: ', requirements) as "Note"
    from shared
    union all
    select
        concern,
        sum(tests)::bigint,
        concat(
            difference, ' (', langbite_outcome, ' in LangBiTe, ', outcome, ' here; such as ', min(example), '): ',
            explanation
        )
    from marts.langbite_differences
    where run_id = ?1
    group by concern, difference, explanation, outcome, langbite_outcome
    order by 1, 2 desc nulls first, 3
"""
"""What LangBiTe's three files do not show: requirements on one concern, and verdicts that differ, by cause."""


def write_langbite(lake: Lake, run_id: str, out: Path) -> list[Path]:
    """Writes LangBiTe's responses, evaluations and global evaluation as CSV, and notes on them, if any. Raises
    UserError."""
    stamp = _timestamp(run_row(lake, run_id))
    evaluations = query(lake, _EVALUATIONS, [run_id], texts_of=run_id)
    oracles = evaluations["Oracle Prediction"].unique().to_list()
    predictions = pl.Series([_prediction(oracle) for oracle in oracles], dtype=pl.String)
    worded = pl.col("Oracle Prediction").replace_strict(oracles, predictions, return_dtype=pl.String)
    tables = {
        "responses": query(lake, _RESPONSES, [run_id], texts_of=run_id),
        "evaluations": evaluations.with_columns(worded),
        "global_evaluation": query(lake, _GLOBAL_EVALUATION, [run_id]),
    }
    if (notes := query(lake, _NOTES, [run_id])).height:
        tables["notes"] = notes
    return [write_table(out / f"{stamp}_{name}.csv", rows.with_row_index("")) for name, rows in tables.items()]


def _timestamp(run: dict[str, object]) -> str:
    """The scenario's own, where it has one that can stand in a file's name."""
    given = _given_timestamp(str(run["scenario_given"]))
    if _STAMP.fullmatch(given):
        return given
    started = run["started_at"]
    return started.strftime("%Y%m%d%H%M%S") if isinstance(started, datetime) else str(run["run_id"])


def _given_timestamp(scenario: str) -> str:
    try:
        given = orjson.loads(scenario)
    except orjson.JSONDecodeError:
        return ""
    return str(given.get("timestamp", "")) if isinstance(given, dict) else ""


def _prediction(oracle: str) -> str:
    """LangBiTe prints the cleaned values as a Python list, and this word where there are none."""
    expected = orjson.loads(oracle).get("expected") or []
    return str([value.strip().replace("\n", " ").lower() for value in expected] or ["NONE"])
