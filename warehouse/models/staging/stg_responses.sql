with responses as (
    select * from lake.responses
),

-- a kill between landing and removing a journal lands its rows again
once as (
    select *
    from responses
    qualify row_number() over (partition by run_id, response_id order by received_at) = 1
),

final as (
    select
        run_id,
        response_id,
        cell_id,
        case_id,
        request_key,
        reused_from,
        purpose,
        provider,
        model,
        model_reported,
        messages,
        parameters,
        text,
        finish_reason,
        error_class,
        error_message,
        session,
        speaker,
        turn,
        sample,
        attempts,
        input_tokens,
        output_tokens,
        cost_usd,
        latency_ms,
        row_number() over (
            partition by run_id, cell_id, case_id, request_key, purpose, session, turn, speaker
            order by
                error_class is not null,
                if(error_class is null, received_at, null),
                received_at desc,
                response_id
        ) = 1 as is_answer,
        received_at
    from once
)

select * from final
