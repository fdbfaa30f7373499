with events as (
    select * from lake.jobs
),

final as (
    select
        run_id,
        job_id,
        kind,
        provider,
        model,
        provider_job_id,
        state,
        error_message,
        result_model,
        len(request_keys) as requests,
        completed,
        failed,
        min(recorded_at) over (partition by run_id, job_id) as submitted_at,
        recorded_at
    from events
    qualify row_number() over (partition by run_id, job_id order by event_id desc) = 1
)

select * from final
