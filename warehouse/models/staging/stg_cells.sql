with events as (
    select * from lake.cells
),

final as (
    select
        run_id,
        cell_id,
        requirement,
        concern,
        provider,
        model,
        language,
        input,
        reflection,
        state,
        planned,
        answered,
        reused,
        failed,
        input_tokens,
        output_tokens,
        cost_usd,
        seconds,
        recorded_at
    from events
    qualify row_number() over (partition by run_id, cell_id order by event_id desc) = 1
)

select * from final
