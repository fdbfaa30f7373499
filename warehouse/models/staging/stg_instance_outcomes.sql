with cases as not materialized (
    select * from staging.stg_cases
),

verdicts as not materialized (
    select
        unit_key as case_key,
        outcome,
        parsed_value
    from staging.stg_verdicts
    where level = 'instance'
),

final as (
    select
        cases.template_key,
        cases.instance_key,
        count(*) as cases,
        count(verdicts.case_key) as judged,
        count(*) filter (where verdicts.outcome = 'passed') as passed,
        count(*) filter (where verdicts.outcome = 'failed') as failed,
        count(*) filter (where verdicts.outcome = 'refused') as refused,
        count(*) filter (where verdicts.outcome = 'unreadable') as unreadable,
        count(*) filter (where verdicts.outcome = 'error') as errors,
        count(verdicts.parsed_value) filter (where verdicts.outcome is null) as numbers,
        coalesce(sum(verdicts.parsed_value) filter (where verdicts.outcome is null), 0) as number_total
    from cases
    left join verdicts using (case_key)
    group by all
)

select * from final
