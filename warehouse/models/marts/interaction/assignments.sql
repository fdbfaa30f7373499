with replies as (
    select * from intermediate.int_assignments
),

tasks as (
    select * from intermediate.int_task_assignments
),

final as (
    select
        tasks.run_id,
        tasks.play_id,
        tasks.reply,
        tasks.task_number,
        tasks.response_id,
        replies.axis,
        replies.domain,
        replies.held_out,
        replies.is_control,
        replies.scene,
        replies.question,
        replies.provider,
        replies.model,
        replies.language,
        replies.setting,
        replies.mitigation,
        replies.number,
        tasks.round,
        replies.stage,
        tasks.speaker,
        tasks.speaker_group,
        replies.speaker_model,
        tasks.task,
        tasks.stereotype,
        tasks.status,
        tasks.assigned_to,
        tasks.invented_names,
        tasks.assigned_group,
        tasks.assigned_group = tasks.stereotype as follows_stereotype,
        replies.outcome as reply_outcome
    from tasks
    inner join replies using (run_id, cell_id, play_id, reply)
)

select * from final
