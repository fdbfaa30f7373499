with cases as (
    select * from staging.stg_cases
),

final as (
    select
        instance_key,
        any_value(instance_id) as instance_id,
        any_value(communities) as communities
    from cases
    group by instance_key
)

select * from final
