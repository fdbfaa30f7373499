with responses as not materialized (
    select
        *,
        hash(run_id, cell_id, case_id, request_key, purpose, session, turn, speaker) as unit
    from lake.responses
),

-- requests with several rows: repeated when the run was resumed, or stored twice by a kill before a journal was
-- removed. Only those long rows are compared
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
                case when error_class is null then received_at end,
                received_at desc,
                response_id
        ) = 1 as is_answer
    from repeated
),

once as not materialized (
    select * from asked_once
    union all
    select * from first_answers
)

select
    * replace (
        -- the case holds the prompt of a model under test, except in a session, where only the turn does
        case when purpose = 'subject' and session is null then null else messages end as messages
    ),
    unit as question_key
from once
