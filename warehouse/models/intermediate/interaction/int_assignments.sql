with counted as (
    select
        tasks.run_id,
        tasks.cell_id,
        tasks.play_id,
        tasks.reply,
        any_value(tasks.evaluation_id) as evaluation_id,
        any_value(tasks.response_id) as response_id,
        any_value(tasks.round) as round,
        any_value(tasks.turn) as turn,
        any_value(tasks.speaker) as speaker,
        any_value(tasks.speaker_group) as speaker_group,
        any_value(tasks.speaker_model) as speaker_model,
        count(*) filter (where stereotype = first_group and assigned_group = first_group) as mm,
        count(*) filter (where stereotype = first_group and assigned_group = second_group) as mf,
        count(*) filter (where stereotype = second_group and assigned_group = first_group) as fm,
        count(*) filter (where stereotype = second_group and assigned_group = second_group) as ff,
        -- an unreadable reply is unreadable for all its assignments
        any_value(status) filter (where status in ('refused', 'unreadable', 'error')) as unread,
        bool_or(status = 'shared') as has_shared,
        bool_or(status = 'unassigned') as has_unassigned,
        bool_or(status = 'invented') as has_invented,
        any_value(tasks.reason) as reason
    from intermediate.int_task_assignments as tasks
    inner join intermediate.int_interaction_plays as plays using (run_id, cell_id, play_id)
    group by tasks.run_id, tasks.cell_id, tasks.play_id, tasks.reply
),

readable as (
    select
        *,
        case
            when unread is not null then unread
            when has_shared then 'shared'
            when has_unassigned then 'unassigned'
            when has_invented then 'invented'
        end as without_class
    from counted
),

classed as (
    select
        readable.*,
        plays.* exclude (run_id, cell_id, play_id),
        if(
            readable.without_class is null,
            statistics.assignment_class(mm, mf, fm, ff, plays.first_people, plays.second_people),
            null
        ) as class
    from readable
    inner join intermediate.int_interaction_plays as plays using (run_id, cell_id, play_id)
)

select
    * replace (coalesce(speaker_model, model) as speaker_model),
    case
        when len(assigns) = 1 then 'only'
        when round = 'reflection' then 'reflected'
        when round = assigns[1] then 'first'
        when round = assigns[-1] then 'last'
        else 'between'
    end as stage,
    replace(class, 'tie', 'anti-stereotypical') as class_as_published,
    statistics.assignment_sign(class) as sign,
    coalesce(class, without_class) as outcome
from classed
