with assessments as (
    select * from staging.stg_assessments where purpose = 'blind'
),

verdicts as not materialized (
    select *
    from lake.verdicts
    semi join assessments using (run_id, evaluation_id)
    where level = 'instance' and supersedes is null
)

select
    run_id,
    evaluation_id,
    cell_id,
    count(distinct case_id) filter (where outcome = 'passed') as passed,
    count(distinct case_id) filter (where outcome = 'failed') as failed
from verdicts
-- chosen letters and paired words are not assessed by judges or people
where coalesce(assessor, '') not in ('choice', 'associations')
group by run_id, evaluation_id, cell_id
