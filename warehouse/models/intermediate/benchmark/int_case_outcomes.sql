with cases as not materialized (
    select * from staging.stg_cases
),

verdicts as not materialized (
    select * from staging.stg_verdicts where level = 'instance'
),

-- millions of rows: numbers and words, no texts
final as (
    select
        cases.case_key,
        cases.template_key,
        cases.instance_key,
        cases.sample,
        verdicts.unit_key is not null as is_judged,
        verdicts.outcome,
        verdicts.parsed_value,
        verdicts.judged_at
    from cases
    left join verdicts on cases.case_key = verdicts.unit_key
)

select * from final
