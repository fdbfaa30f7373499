with responses as not materialized (
    select
        *,
        hash(run_id, cell_id, case_id, request_key, purpose, session, turn, speaker) as unit
    from lake.responses
),

-- questions with several rows: asked again when their run went on, or landed again by a kill between landing and
-- removing a journal; long rows are compared for those alone
asked_again as (
    select * from lake.repeated_responses
),

asked_once as not materialized (
    select
        *,
        true as is_answer
    from responses
    anti join asked_again using (unit)
),

repeated as (
    select *
    from responses
    semi join asked_again using (unit)
    qualify row_number() over (partition by run_id, response_id order by received_at) = 1
),

first_answers as (
    select
        *,
        row_number() over (
            partition by run_id, cell_id, case_id, request_key, purpose, session, turn, speaker
            order by
                error_class is not null,
                if(error_class is null, received_at, null),
                received_at desc,
                response_id
        ) = 1 as is_answer
    from repeated
),

once as not materialized (
    select * from asked_once
    union all
    select * from first_answers
),

final as (
    select
        * replace (
            -- what a model under test was sent is in its case; of a session it is in the turn alone
            if(purpose = 'subject' and session is null, null, messages) as messages
        ),
        unit as question_key
    from once
)

from final
