with languages as (
    select
        pass_rates.run_id,
        pass_rates.requirement,
        pass_rates.model,
        pass_rates.language,
        any_value(pass_rates.evaluation_id) as evaluation_id,
        any_value(pass_rates.concern) as concern,
        any_value(pass_rates.provider) as provider,
        any_value(pass_rates.refusals_rule) as refusals_rule,
        any_value(pass_rates.measure) as measure,
        any_value(pass_rates.tolerance) as tolerance,
        count(*) as cells,
        count(*) filter (where pass_rates.decision = 'not evaluated') as cells_not_evaluated,
        any_value(cells.templates_if_perfect) as templates_if_perfect,
        any_value(cells.templates_if_nothing) as templates_if_nothing,
        array_to_string(list_sort(list(distinct pass_rates.not_evaluated_because)), '; ') as not_evaluated_because,
        coalesce(sum(pass_rates.judge_decided), 0)::bigint as judge_decided,
        coalesce(sum(pass_rates.judge_overturned), 0)::bigint as judge_overturned,
        coalesce(bool_or(criteria.judge_corrects), false) as judge_corrects,
        min(pass_rates.started_at) as started_at,
        max(pass_rates.judged_at) as judged_at
    from marts.pass_rates
    inner join intermediate.int_planned_cells as cells using (run_id, cell_id)
    left join staging.stg_criteria as criteria
        on pass_rates.run_id = criteria.run_id and pass_rates.requirement = criteria.requirement
    group by pass_rates.run_id, pass_rates.requirement, pass_rates.model, pass_rates.language
),

-- a template in several cells, and its twin, are one cluster
templates as (
    select
        template_rates.run_id,
        template_rates.requirement,
        template_rates.model,
        template_rates.language,
        template_rates.cluster,
        sum(template_rates.measured_passed) as passed,
        sum(template_rates.measured) as counted,
        coalesce(statistics.total(corrections.correction), 0) as correction,
        coalesce(statistics.total(corrections.by_sensitivity), 0) as by_sensitivity,
        coalesce(statistics.total(corrections.by_specificity), 0) as by_specificity
    from intermediate.int_template_rates as template_rates
    inner join marts.pass_rates using (run_id, cell_id)
    left join intermediate.int_judge_corrections as corrections using (run_id, cell_id, template_id)
    where pass_rates.decision <> 'not evaluated' and template_rates.measured > 0
    group by all
),

clusters as (
    select
        run_id,
        requirement,
        model,
        language,
        count(*) as counted_templates,
        sum(counted)::bigint as measured,
        sum(passed)::bigint as measured_passed,
        statistics.macro_rate(passed, counted) as rate,
        statistics.macro_se(passed, counted) as standard_error,
        statistics.intra_template_correlation(passed, counted) as correlation,
        statistics.macro_rate(passed + correction, counted) as theta,
        statistics.macro_se(passed + correction, counted) as theta_se,
        statistics.macro_rate(by_sensitivity, counted) as by_sensitivity,
        statistics.macro_rate(by_specificity, counted) as by_specificity
    from templates
    group by run_id, requirement, model, language
),

judges as (
    select *
    from intermediate.int_judge_figures
    where qualifies and statistics.judge_informs(sensitivity, specificity)
    qualify row_number() over (partition by run_id, language order by judge) = 1
),

with_rates as (
    select
        languages.*,
        clusters.* exclude (run_id, requirement, model, language)
            replace (
                coalesce(clusters.counted_templates, 0) as counted_templates,
                coalesce(clusters.measured, 0) as measured,
                coalesce(clusters.measured_passed, 0) as measured_passed
            ),
        statistics.effective_n(
            clusters.rate, clusters.standard_error, clusters.counted_templates, clusters.measured
        ) as effective_n,
        statistics.interval(
            clusters.rate, clusters.standard_error, clusters.counted_templates, clusters.measured
        ) as raw_interval,
        if(
            languages.judge_decided > 0 and judges.judge is not null,
            statistics.corrected_interval(
                clusters.theta,
                clusters.theta_se,
                statistics.calibration_se(
                    clusters.by_sensitivity,
                    clusters.by_specificity,
                    judges.sensitivity,
                    judges.sensitivity_rows,
                    judges.specificity,
                    judges.specificity_rows
                ),
                clusters.counted_templates,
                clusters.measured
            ),
            null
        ) as corrected
    from languages
    left join clusters using (run_id, requirement, model, language)
    left join judges using (run_id, language)
),

with_corrected_rate as (
    select *, if(corrected is null, null, statistics.as_share(theta)) as corrected_rate from with_rates
),

with_interval as (
    select
        * replace (if(judge_corrects and corrected is not null, corrected_rate, rate) as rate),
        if(judge_corrects and corrected is not null, corrected, raw_interval) as interval
    from with_corrected_rate
),

decided as (
    select
        *,
        if(
            rate is null,
            'not evaluated',
            statistics.decision_of_templates(
                interval.low, interval.high, tolerance, counted_templates, templates_if_perfect, templates_if_nothing
            )
        ) as evaluated_decision,
        if(rate is null, 'not evaluated', statistics.point_finding(rate, tolerance)) as evaluated_point_finding
    from with_interval
)

select
    *,
    interval.low as interval_low,
    interval.high as interval_high,
    corrected.low as corrected_low,
    corrected.high as corrected_high,
    -- evaluated cells do not represent cells that were not evaluated
    if(evaluated_decision = 'met' and cells_not_evaluated > 0, 'undecided', evaluated_decision) as decision,
    if(
        evaluated_point_finding = 'met' and cells_not_evaluated > 0, 'not evaluated', evaluated_point_finding
    ) as point_finding,
    if(
        evaluated_decision = 'undecided',
        statistics.templates_needed(
            tolerance, rate, counted_templates, measured, correlation, templates_if_perfect, templates_if_nothing
        ),
        null
    )::bigint as templates_needed
from decided
