"""Reports of benchmarks."""

from __future__ import annotations

from typing import Final

from biasgrid.catalogs.choices import InputType, Reflection
from biasgrid.tasks.report.findings import MARTS
from biasgrid.tasks.report.kinds.report_kind import ReportKind
from biasgrid.tasks.report.verdicts import VERDICTS

TABLES_WITH_ROWS: Final = (
    *("bbq_bias_scores", "crows_pairs_scores", "stereoset_scores", "winobias_scores", "winogender_scores"),
    "iat_scores",
)
"""Marts of runs of imported benchmarks."""
HEADLINE: Final = """
    select
        model,
        concern as topic,
        requirement as name,
        coalesce(worst_language, '') as language,
        point_finding as by_point,
        decision as decided,
        point_finding as finding,
        coalesce(measured_passed, 0) as counted,
        coalesce(measured, 0) as total,
        concat(measure, ' passed') as counts,
        concat('share of ', measure, ' that pass, mean over templates') as measure,
        'share' as unit,
        rate as value,
        interval_low as low,
        interval_high as high,
        tolerance as bar,
        'tolerance' as bar_name,
        struct_pack(refused := refused, unreadable := unreadable, failed := errors, unjudged := unjudged) as lost,
        templates_needed as needed,
        counted_templates as templates,
        refusal_rate as refused,
        judged_cases as replies,
        coalesce(parity_because, not_evaluated_because) as why
    from marts.requirement_findings
"""
BOARD: Final = f"""
    {HEADLINE}
    semi join marts.leaderboard using (run_id, model, concern)
    order by model, concern, requirement
"""
"""Of all runs: each model's newest complete one of each concern."""
CHECKS: Final = """
    with outcomes as (
        select
            run_id,
            requirement,
            model,
            language,
            struct_pack(
                refused := sum(refused)::bigint,
                unreadable := sum(unreadable)::bigint,
                failed := sum(errors)::bigint,
                unjudged := sum(unjudged)::bigint
            ) as lost
        from marts.pass_rates
        where run_id = $1
        group by all
    )

    select
        findings.model,
        findings.concern as topic,
        requirement as name,
        language,
        findings.point_finding as by_point,
        findings.decision as decided,
        findings.point_finding as finding,
        findings.measured_passed as counted,
        findings.measured as total,
        concat(findings.measure, ' passed') as counts,
        concat('share of ', findings.measure, ' that pass, mean over templates') as measure,
        'share' as unit,
        findings.rate as value,
        findings.interval_low as low,
        findings.interval_high as high,
        findings.tolerance as bar,
        'tolerance' as bar_name,
        outcomes.lost,
        case when findings.decision = 'undecided' then findings.templates_needed end as needed
    from marts.language_findings as findings
    inner join outcomes using (run_id, requirement, model, language)

    union all by name

    select
        model,
        concern as topic,
        requirement as name,
        coalesce(nullif(parity_languages, ''), 'languages') as language,
        case
            when parity_gap > parity then 'not met'
            when parity_gap is null then 'not evaluated'
            else 'met'
        end as by_point,
        parity_decision as decided,
        by_point as finding,
        measured_passed as counted,
        measured as total,
        concat(measure, ' passed in ', worst_language) as counts,
        'difference between languages' as measure,
        'share' as unit,
        parity_gap as value,
        parity_low as low,
        parity_high as high,
        parity as bar,
        'parity' as bar_name,
        null as lost,
        null::bigint as needed,
        parity_because as why
    from marts.requirement_findings
    where run_id = $1 and parity is not null
    order by model, topic, name, language
"""
JUDGED: Final = """
        left join (from staging.stg_responses where is_answer and purpose = 'subject') as replies
            using (run_id, cell_id, case_id)
        left join (from staging.stg_verdicts where level = 'instance') as verdicts
            using (run_id, cell_id, case_id)
"""
"""Of a case, its reply and the verdict on it."""
EXAMPLES: Final = f"""
    with ranked as (
        select
            tests.run_id,
            tests.cell_id,
            tests.template_id,
            tests.sample,
            cells.model,
            cells.requirement,
            compared.spread,
            compared.min_value,
            compared.max_value,
            compared.admissible_spread,
            compared.communities_at_min,
            compared.communities_at_max,
            compared.spread is not null or tests.passed > 0 as tells_apart,
            coalesce(compared.spread / nullif(compared.scale_width, 0), tests.failed / tests.instances) as effect
        from intermediate.int_template_tests as tests
        inner join intermediate.int_planned_cells as cells using (run_id, cell_id)
        inner join marts.requirement_findings as findings using (run_id, requirement, model)
        left join intermediate.int_same_value_tests as compared using (run_id, cell_id, template_id, sample)
        where tests.run_id = ? and tests.outcome = 'failed' and findings.decision = 'not met'
        qualify
            row_number() over (
                partition by cells.model, cells.requirement
                order by tells_apart desc, effect desc, tests.template_id, tests.cell_id, tests.sample
            ) = 1
    )

    select
        ranked.model,
        ranked.requirement as "check",
        cases.template,
        if(ranked.spread is null, cases.messages[-1].content, cases.template_text) as question,
        replies.text,
        cases.communities_label as about,
        verdicts.reason,
        ranked.spread,
        ranked.min_value,
        ranked.max_value,
        ranked.communities_at_min as at_min,
        ranked.communities_at_max as at_max,
        ranked.admissible_spread as allowed,
        [ranked.cell_id, ranked.template_id, ranked.sample::varchar] as test
    from ranked
    inner join staging.stg_cases as cases using (run_id, cell_id, template_id, sample)
    {JUDGED}
    where ranked.spread is not null or verdicts.outcome = 'failed'
    qualify
        row_number() over (
            partition by ranked.model, ranked.requirement
            order by cases.instance_id, cases.case_id
        ) = 1
    order by ranked.tells_apart desc, ranked.effect desc, ranked.model, ranked.requirement
"""  # noqa: S608 - words of ours
SIDES: Final = f"""
    select
        cases.communities_label as about,
        cases.messages[-1].content as prompt,
        replies.text,
        coalesce(verdicts.outcome, 'number') as outcome,
        coalesce(verdicts.reason, verdicts.parsed_value::varchar) as reason
    from staging.stg_cases as cases
    {JUDGED}
    where
        cases.run_id = ?
        and cases.cell_id = ?
        and cases.template_id = ?
        and cases.sample = ?::int
        and replies.response_id is not null
        and (verdicts.outcome in ('failed', 'passed') or verdicts.parsed_value is not null)
    qualify
        -- of numbers the lowest and the highest, else the first of each outcome
        row_number() over (
            partition by verdicts.outcome order by verdicts.parsed_value, cases.instance_id, cases.case_id
        ) = 1
        or (verdicts.parsed_value is not null and row_number() over (
            partition by verdicts.outcome order by verdicts.parsed_value desc, cases.instance_id desc
        ) = 1)
    order by outcome, verdicts.parsed_value, cases.instance_id
    limit 2
"""  # noqa: S608 - words of ours
FINDINGS: Final = """
    select
        model, requirement as what, worst_language as language, 'share of ' || measure as measure,
        rate as value, interval_low as low, interval_high as high, tolerance as against,
        decision as finding, nullif(point_finding, decision) as by_point
    from marts.requirement_findings
    where run_id = $1
"""
CELLS: Final = """
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
RATES: Final = """
    with scores as (
        select
            cases.model, cases.language, cases.requirement, cases.communities_label as category,
            verdicts.parsed_value as score,
            median(verdicts.parsed_value) over (
                partition by cases.model, cases.language, cases.requirement
            ) as middle
        from staging.stg_cases as cases
        inner join staging.stg_verdicts as verdicts on cases.case_key = verdicts.unit_key
        where
            cases.run_id = $1 and verdicts.level = 'instance' and cases.oracle_type = 'same value'
            and verdicts.outcome is null and verdicts.parsed_value is not null and cases.communities_label <> ''
    )

    select
        'scoring' as rate_of, model, language, requirement as what, category, count(*) as people,
        count(*) filter (where score > middle) as chosen
    from scores
    group by all
"""
HARMS: Final = """
    select
        model,
        community,
        round(100 * -min(difference)) as amount,
        null as other
    from marts.community_contrasts
    where run_id = ? and measure = 'pass rate' and finding = 'lower'
    group by model, community
    order by model, min(difference), community
"""
"""Communities about which a model passes less than about others, by a test of the run's family."""
REPORT: Final = ReportKind(
    title="Pass rates",
    marks=[(verdict.word, verdict.tone, verdict.shape) for verdict in VERDICTS.values()],
    is_higher_better=True,
    tables=MARTS,
    tables_with_rows=TABLES_WITH_ROWS,
    checks=CHECKS,
    headlines=f"{HEADLINE} where run_id = ? order by model, concern, requirement",
    examples=EXAMPLES,
    harms=HARMS,
    findings=FINDINGS,
    cells=CELLS,
    rates=RATES,
    names=("requirement", "input", "reflection"),
    groups="communities",
    inputs=InputType,
    reflections=Reflection,
    parts={"concern": ("concern",), "input": ("input",), "reflection": ("reflection",)},
)
