with verdicts as not materialized (
    select
        *,
        hash(run_id, evaluation_id, level, cell_id, template_id, sample, case_id) as unit
    from lake.verdicts
),

standing as not materialized (
    select *
    from verdicts
    semi join staging.stg_criteria using (run_id, evaluation_id)
    anti join lake.superseded_verdicts using (run_id, evaluation_id, verdict_id)
),

-- a cell that is evaluated again after a crash has its verdicts twice; only those long rows are compared
once as (
    select * from standing anti join lake.repeated_verdicts using (unit)
    union all
    select *
    from standing
    semi join lake.repeated_verdicts using (unit)
    qualify row_number() over (
        partition by run_id, level, cell_id, template_id, sample, case_id
        order by judged_at desc nulls last, verdict_id desc
    ) = 1
)

select
    *,
    case
        when level = 'instance' then hash(run_id, cell_id, case_id)
        else hash(run_id, cell_id, template_id, sample)
    end as unit_key
from once
