with replaced as (
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
    verdicts.*,
    replaced.superseded_by,
    coalesce(newest.is_newest, false) as is_of_newest_evaluation
from lake.verdicts as verdicts
left join replaced using (run_id, evaluation_id, verdict_id)
left join newest using (run_id, evaluation_id)
