with events as (
    select * from lake.runs
),

final as (
    select
        run_id,
        kind,
        state,
        seed,
        scenario_given,
        scenario_resolved,
        catalog_hashes,
        versions,
        started_at,
        ended_at,
        recorded_at
    from events
    qualify row_number() over (partition by run_id order by event_id desc) = 1
)

select * from final
