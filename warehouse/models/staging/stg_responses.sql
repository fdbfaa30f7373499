with responses as not materialized (
    select
        *,
        hash(run_id, response_id) as key,
        hash(run_id, cell_id, case_id, request_key, purpose, session, turn, speaker) as question
    from lake.responses
),

-- a kill between landing and removing a journal lands its rows again; most lakes have none of them, and long rows
-- are sorted for those that do
repeated as (
    select hash(run_id, response_id) as key
    from lake.responses
    group by key
    having count(*) > 1
),

once as not materialized (
    select * from responses anti join repeated using (key)
    union all
    select *
    from responses
    semi join repeated using (key)
    qualify row_number() over (partition by run_id, response_id order by received_at) = 1
),

-- questions that were asked again when their run went on: most were asked once, and need no comparing
contested as (
    select hash(run_id, cell_id, case_id, request_key, purpose, session, turn, speaker) as question
    from lake.responses
    group by question
    having count(*) > 1
),

answers as (
    select
        run_id,
        response_id
    from once
    semi join contested using (question)
    qualify row_number() over (
        partition by run_id, cell_id, case_id, request_key, purpose, session, turn, speaker
        order by
            error_class is not null,
            if(error_class is null, received_at, null),
            received_at desc,
            response_id
    ) = 1
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
        contested.question is null or answers.response_id is not null as is_answer,
        received_at
    from once
    left join contested using (question)
    left join answers using (run_id, response_id)
)

select * from final
