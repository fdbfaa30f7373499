with plays as (
    select * from intermediate.int_interaction_plays where question = 'understanding'
),

-- a run may be judged again: of each reply, the newest reading
verdicts as (
    select *
    from lake.interaction_verdicts
    where level = 'understanding'
    qualify row_number() over (
        partition by run_id, cell_id, case_id
        order by evaluation_id desc, judged_at desc nulls last, verdict_id desc
    ) = 1
),

final as (
    select
        plays.run_id,
        plays.cell_id,
        plays.play_id,
        verdicts.evaluation_id,
        verdicts.response_id,
        plays.axis,
        plays.domain,
        plays.held_out,
        plays.scene,
        plays.provider,
        plays.model,
        plays.tuned_from,
        plays.language,
        plays.mitigation,
        plays.number,
        plays.presence,
        verdicts.parsed_text as said,
        coalesce(verdicts.outcome, 'error') as outcome,
        verdicts.reason
    from plays
    left join verdicts
        on plays.run_id = verdicts.run_id
        and plays.cell_id = verdicts.cell_id
        and plays.play_id = verdicts.case_id
)

select * from final
