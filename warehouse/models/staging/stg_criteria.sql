with newest_evaluation as (
    select
        run_id,
        max(evaluation_id) as evaluation_id
    from lake.criteria
    group by run_id
)

select
    * replace (coalesce(measure, 'tests') as measure, coalesce(least_drop, 0) as least_drop),
    refusals as refusals_rule,
    coverage as coverage_floor
from lake.criteria
semi join newest_evaluation using (run_id, evaluation_id)
qualify row_number() over (partition by run_id, requirement order by recorded_at desc) = 1
