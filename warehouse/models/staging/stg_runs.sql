with events as (
    select * from lake.runs
),

final as (
    select
        run_id,
        kind,
        -- the file that a run's own aggregation builds is read when that has ended
        case when state = 'aggregating' then 'completed' else state end as state,
        seed,
        scenario_given,
        scenario_resolved,
        catalog_hashes,
        versions,
        started_at,
        case when state = 'aggregating' then recorded_at else ended_at end as ended_at,
        recorded_at
    from events
    qualify row_number() over (partition by run_id order by event_id desc) = 1
)

select * from final
