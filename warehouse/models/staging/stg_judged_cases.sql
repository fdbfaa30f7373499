with cases as (
    select * from staging.stg_cases
),

verdicts as (
    select * from staging.stg_verdicts where level = 'instance'
),

final as (
    select
        cases.run_id,
        cases.cell_id,
        cases.case_id,
        cases.template_id,
        cases.provider,
        cases.model,
        cases.requirement,
        cases.concern,
        cases.oracle_type,
        cases.scale_low,
        cases.scale_high,
        cases.communities,
        cases.sample,
        verdicts.verdict_id is not null as is_judged,
        verdicts.outcome,
        verdicts.parsed_value
    from cases
    left join verdicts using (run_id, cell_id, case_id)
)

select * from final
