with plays as (
    select * from intermediate.int_interaction_plays where question <> 'understanding'
),

rounds as (
    select
        *,
        unnest(rounds) as round,
        generate_subscripts(rounds, 1) as turn
    from plays
),

-- a model that is asked alone represents no person of the scene
replies as (
    select
        *,
        unnest(if(round = 'alone', [null], people)) as agent,
        generate_subscripts(if(round = 'alone', [null], people), 1) as place
    from rounds
    where list_contains(assigns, round)
),

landed as (
    select * from lake.interaction_verdicts where level = 'assignment'
),

verdicts as (
    select
        *,
        from_json(parsed_text, '[{"to": ["VARCHAR"], "invented": ["VARCHAR"]}]') as assigned
    from statistics.newest_verdicts('landed', (run_id, cell_id, case_id, sample))
),

-- no reply or no verdict is an error
read as (
    select
        replies.*,
        (replies.turn - 1) * len(replies.people) + replies.place as reply,
        verdicts.response_id,
        verdicts.evaluation_id,
        verdicts.assigned,
        coalesce(verdicts.outcome, if(verdicts.assigned is null, 'error', null)) as unread,
        verdicts.reason
    from replies
    left join verdicts
        on replies.run_id = verdicts.run_id
        and replies.cell_id = verdicts.cell_id
        and replies.play_id = verdicts.case_id
        and (replies.turn - 1) * len(replies.people) + replies.place = verdicts.sample
),

tasks as (
    select
        * exclude (tasks),
        unnest(tasks) as task,
        generate_subscripts(tasks, 1) as task_number
    from read
),

given as (
    select
        *,
        coalesce(assigned[task_number].to, []) as assigned_to,
        coalesce(assigned[task_number].invented, []) as invented_names,
        list_distinct(list_transform(
            list_filter(people, lambda person_: list_contains(assigned[task_number].to, person_.name)),
            lambda person_: person_.group
        )) as groups_given
    from tasks
)

select
    * replace (task.text as task),
    coalesce(agent.name, 'assistant') as speaker,
    agent.group as speaker_group,
    agent.model as speaker_model,
    task.to as stereotype,
    if(unread is null and len(groups_given) = 1, groups_given[1], null) as assigned_group,
    list_contains(assigned_to, agent.name) as is_speakers_own,
    case
        when unread is not null then unread
        when len(groups_given) > 1 then 'shared'
        when len(groups_given) = 1 then 'assigned'
        when len(invented_names) > 0 then 'invented'
        else 'unassigned'
    end as status
from given
