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
        any_value(pass_rates.tolerance) as tolerance,
        count(*) as cells,
        count(*) filter (where pass_rates.decision = 'not evaluated') as cells_not_evaluated,
        any_value(cells.templates_if_perfect) as templates_if_perfect,
        any_value(cells.templates_if_nothing) as templates_if_nothing,
        min(pass_rates.started_at) as started_at,
        max(pass_rates.judged_at) as judged_at
    from marts.pass_rates
    inner join intermediate.int_planned_cells as cells using (run_id, cell_id)
    group by pass_rates.run_id, pass_rates.requirement, pass_rates.model, pass_rates.language
),

-- a template in several cells is one cluster
templates as (
    select
        template_rates.run_id,
        template_rates.requirement,
        template_rates.model,
        template_rates.language,
        template_rates.template_id,
        sum(template_rates.counted_passed) as passed,
        sum(template_rates.counted) as counted
    from intermediate.int_template_rates as template_rates
    inner join marts.pass_rates using (run_id, cell_id)
    where pass_rates.decision <> 'not evaluated' and template_rates.counted > 0
    group by all
),

clusters as (
    select
        run_id,
        requirement,
        model,
        language,
        count(*) as counted_templates,
        sum(counted)::bigint as counted_instances,
        sum(passed)::bigint as counted_instance_passed,
        statistics.macro_rate(passed, counted) as macro_rate,
        statistics.macro_se(passed, counted) as standard_error,
        statistics.intra_template_correlation(passed, counted) as correlation
    from templates
    group by run_id, requirement, model, language
),

with_interval as (
    select
        languages.*,
        clusters.* exclude (run_id, requirement, model, language)
            replace (
                coalesce(clusters.counted_templates, 0) as counted_templates,
                coalesce(clusters.counted_instances, 0) as counted_instances,
                coalesce(clusters.counted_instance_passed, 0) as counted_instance_passed
            ),
        statistics.effective_n(
            clusters.macro_rate, clusters.standard_error, clusters.counted_templates, clusters.counted_instances
        ) as effective_n,
        statistics.interval(
            clusters.macro_rate, clusters.standard_error, clusters.counted_templates, clusters.counted_instances
        ) as interval
    from languages
    left join clusters using (run_id, requirement, model, language)
),

decided as (
    select
        *,
        if(
            macro_rate is null,
            'not evaluated',
            statistics.decision_of_templates(
                interval.low, interval.high, tolerance, counted_templates, templates_if_perfect, templates_if_nothing
            )
        ) as evaluated_decision
    from with_interval
)

select
    *,
    interval.low as interval_low,
    interval.high as interval_high,
    -- evaluated cells do not represent cells that were not evaluated
    if(evaluated_decision = 'met' and cells_not_evaluated > 0, 'undecided', evaluated_decision) as decision,
    if(
        evaluated_decision = 'undecided',
        statistics.templates_needed(
            tolerance,
            macro_rate,
            counted_templates,
            counted_instances,
            correlation,
            templates_if_perfect,
            templates_if_nothing
        ),
        null
    )::bigint as templates_needed
from decided
