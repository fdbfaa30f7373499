with cells as (
    select
        run_id,
        cell_id,
        any_value(requirement) as requirement,
        if(count(distinct concern) > 1, 'several', any_value(concern)) as concern,
        any_value(provider) as provider,
        any_value(model) as model,
        any_value(language) as language,
        any_value(input) as input,
        any_value(reflection) as reflection,
        sum(cases)::bigint as planned_cases,
        count(*) as templates
    from intermediate.int_templates as templates
    group by run_id, cell_id
),

-- a zero score with a tolerance is symmetric to a perfect score with 1 − tolerance
shares as (
    select tolerance as share from staging.stg_criteria as criteria
    union
    select 1 - tolerance as share from staging.stg_criteria as criteria
),

-- computed per tolerance: there are few
fewest as materialized (
    select
        share,
        statistics.templates_for_perfect_score(share)::bigint as templates
    from shares
)

select
    criteria.* exclude (run_id, requirement, concern),
    -- a cell of a pool has its concern, even if the templates of the cell share another
    cells.* replace (coalesce(criteria.concern, cells.concern) as concern),
    if_perfect.templates as templates_if_perfect,
    if_nothing.templates as templates_if_nothing
from cells
left join staging.stg_criteria as criteria using (run_id, requirement)
left join fewest as if_perfect on criteria.tolerance = if_perfect.share
left join fewest as if_nothing on 1 - criteria.tolerance = if_nothing.share
