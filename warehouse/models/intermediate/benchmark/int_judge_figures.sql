with readings as (
    from staging.stg_controls
),

rules as (
    select
        run_id,
        any_value(judge_floor) as judge_floor
    from staging.stg_criteria as criteria
    where judge_overrules
    group by run_id
)

select
    figures.*,
    rules.judge_floor,
    statistics.judge_qualifies(
        figures.sensitivity, figures.specificity, figures.controls_decided, rules.judge_floor
    ) as qualifies
from statistics.judge_figures('readings') as figures
inner join rules using (run_id)
