select
    tasks.* exclude (speaker_model),
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
    replies.stage,
    replies.speaker_model,
    tasks.assigned_group = tasks.stereotype as follows_stereotype,
    replies.outcome as reply_outcome
from intermediate.int_task_assignments as tasks
inner join intermediate.int_assignments as replies using (run_id, cell_id, play_id, reply)
