with criteria as (
    select * from lake.criteria
),

newest_evaluation as (
    select
        run_id,
        max(evaluation_id) as evaluation_id
    from criteria
    group by run_id
),

final as (
    select
        run_id,
        evaluation_id,
        requirement,
        concern,
        rationale,
        refusals as refusals_rule,
        judge,
        tolerance,
        delta,
        max_refusals,
        coverage as coverage_floor,
        recorded_at
    from criteria
    semi join newest_evaluation using (run_id, evaluation_id)
    qualify row_number() over (partition by run_id, requirement order by recorded_at desc) = 1
)

select * from final
