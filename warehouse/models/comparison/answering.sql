with responses as (
    select * from staging.stg_responses where purpose = 'subject' and error_class is null
),

values_ as (
    select distinct
        run_id,
        model,
        'answered as' as what,
        model_reported as value_
    from responses
    where model_reported is not null
    union all
    -- each sample has a seed of its own, derived from the scenario's
    select distinct
        run_id,
        model,
        'parameters' as what,
        json_merge_patch(parameters::json, '{"seed": null}'::json)::varchar as value_
    from staging.stg_cases
    where parameters is not null
),

sides as (
    select
        model,
        what,
        string_agg(value_, ', ' order by value_) filter (where run_id = 'earlier') as earlier,
        string_agg(value_, ', ' order by value_) filter (where run_id = 'later') as later
    from values_
    group by model, what
    having count(distinct run_id) = 2
)

select * from sides where earlier <> later
