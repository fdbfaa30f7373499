with events as (
    select * from lake.cells
),

final as (
    select *
    from events
    qualify row_number() over (partition by run_id, cell_id order by event_id desc) = 1
)

from final
