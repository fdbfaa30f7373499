with newest as (
    select
        run_id,
        max(evaluation_id) as newest_id
    from staging.stg_criteria
    group by run_id
)

select
    criteria.run_id,
    criteria.evaluation_id,
    criteria.evaluation_id = max(newest.newest_id) as is_newest,
    count(distinct criteria.requirement) as requirements,
    max(criteria.judge) as judge,
    bool_or(criteria.judge_overrules) as judge_overrules,
    max(criteria.catalog_hashes) as catalog_hashes,
    max(criteria.versions) as versions,
    min(criteria.recorded_at) as evaluated_at
from lake.criteria as criteria
inner join newest using (run_id)
group by criteria.run_id, criteria.evaluation_id
