with cases as (
    select * from staging.stg_cases where operation in ('choice', 'associations') and facets is not null
),

outcomes as (
    select * from intermediate.int_case_outcomes
),

final as (
    select
        cases.run_id,
        cases.cell_id,
        cases.case_id,
        cases.template_id,
        cases.sample,
        cases.provider,
        cases.model,
        cases.language,
        cases.operation,
        cases.facets,
        outcomes.case_key,
        outcomes.outcome,
        outcomes.parsed_value
    from cases
    inner join outcomes using (case_key)
)

select * from final
