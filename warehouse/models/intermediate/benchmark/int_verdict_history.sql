with verdicts as not materialized (
    select
        *,
        hash(run_id, evaluation_id, level, cell_id, template_id, sample, case_id) as unit
    from lake.verdicts
),

-- a cell that is evaluated again after a crash has its verdicts twice
once as (
    select * from verdicts anti join lake.repeated_verdicts using (unit)
    union all
    select *
    from verdicts
    semi join lake.repeated_verdicts using (unit)
    qualify row_number() over (partition by run_id, verdict_id order by judged_at desc nulls last) = 1
),

replaced as (
    select
        run_id,
        evaluation_id,
        supersedes as verdict_id,
        max(verdict_id) as superseded_by
    from lake.verdicts
    where supersedes is not null
    group by run_id, evaluation_id, supersedes
),

newest as (
    select distinct
        run_id,
        evaluation_id,
        true as is_newest
    from staging.stg_criteria
)

select
    once.* exclude (unit),
    replaced.superseded_by,
    coalesce(newest.is_newest, false) as is_of_newest_evaluation
from once
left join replaced using (run_id, evaluation_id, verdict_id)
left join newest using (run_id, evaluation_id)
