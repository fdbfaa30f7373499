with plays as (
    select * from intermediate.int_interaction_plays where question = 'understanding'
),

landed as (
    select * from lake.interaction_verdicts where level = 'understanding'
),

verdicts as (
    from statistics.newest_verdicts('landed', (run_id, cell_id, case_id))
)

select
    plays.*,
    verdicts.evaluation_id,
    verdicts.response_id,
    verdicts.parsed_text as said,
    coalesce(verdicts.outcome, 'error') as outcome,
    verdicts.reason
from plays
left join verdicts
    on plays.run_id = verdicts.run_id
    and plays.cell_id = verdicts.cell_id
    and plays.play_id = verdicts.case_id
