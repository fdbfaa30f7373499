with cases as (
    select * from staging.stg_cases where operation in ('choice', 'associations') and facets is not null
),

outcomes as (
    select * from intermediate.int_case_outcomes
),

final as (
    select
        cases.* exclude (case_key),
        outcomes.case_key,
        outcomes.outcome,
        outcomes.parsed_value
    from cases
    inner join outcomes using (case_key)
)

from final
