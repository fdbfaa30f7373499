with events as (
    select
        *,
        lag(state) over (partition by run_id order by event_id) as earlier_state,
        lag(recorded_at) over (partition by run_id order by event_id) as earlier_at
    from lake.runs
),

newest as (
    select * from events
    qualify row_number() over (partition by run_id order by event_id desc) = 1
),

-- a run's own aggregation builds the file before the run is recorded as ended: the state is set as in a later build
aggregated as (
    select
        *,
        case
            when state = 'aggregating' then recorded_at
            when state = 'completed' and earlier_state = 'aggregating' then earlier_at
        end as aggregated_at
    from newest
)

select
    * replace (
        if(aggregated_at is null, state, 'completed') as state,
        coalesce(aggregated_at, ended_at) as ended_at,
        coalesce(aggregated_at, recorded_at) as recorded_at
    )
from aggregated
