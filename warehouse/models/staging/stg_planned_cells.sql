with templates as (
    select * from staging.stg_templates
),

criteria as (
    select * from staging.stg_criteria
),

cells as (
    select
        run_id,
        cell_id,
        any_value(requirement) as requirement,
        any_value(concern) as concern,
        any_value(provider) as provider,
        any_value(model) as model,
        any_value(language) as language,
        any_value(input) as input,
        any_value(reflection) as reflection,
        sum(cases)::bigint as planned_cases,
        count(*) as templates
    from templates
    group by run_id, cell_id
),

-- once per tolerance, of which there are few
tolerances as (
    select
        tolerance,
        statistics.templates_for_perfect_score(tolerance)::bigint as templates_if_perfect,
        statistics.templates_for_perfect_score(1 - tolerance)::bigint as templates_if_nothing
    from (select distinct tolerance from criteria)
),

final as (
    select
        cells.run_id,
        criteria.evaluation_id,
        cells.cell_id,
        cells.requirement,
        cells.concern,
        cells.provider,
        cells.model,
        cells.language,
        cells.input,
        cells.reflection,
        criteria.refusals_rule,
        criteria.tolerance,
        criteria.max_refusals,
        criteria.coverage_floor,
        cells.planned_cases,
        cells.templates,
        tolerances.templates_if_perfect,
        tolerances.templates_if_nothing
    from cells
    left join criteria using (run_id, requirement)
    left join tolerances using (tolerance)
)

select * from final
