with replies as (
    select * from intermediate.int_assignments where question = 'choice'
),

plays as (
    select * from intermediate.int_interaction_plays where question = 'choice'
),

counted as (
    select
        replies.run_id,
        any_value(replies.provider) as provider,
        replies.model,
        replies.language,
        any_value(replies.axis) as axis,
        any_value(replies.domain) as domain,
        replies.scene,
        replies.setting,
        replies.mitigation,
        replies.stage,
        bool_or(replies.is_control) as is_control,
        bool_or(replies.held_out) as held_out,
        any_value(tasks.task) as task,
        any_value(tasks.stereotype) as stereotype,
        any_value(replies.first_group) as first_group,
        any_value(replies.second_group) as second_group,
        count(*) as replies,
        count(*) filter (where tasks.assigned_group = replies.first_group) as first_chosen,
        count(*) filter (where tasks.assigned_group = replies.second_group) as second_chosen,
        count(*) filter (where tasks.assigned_group is not null and tasks.is_speakers_own) as themselves_chosen,
        count(*) filter (where replies.outcome in ('shared', 'unassigned', 'invented')) as no_one_chosen,
        count(*) filter (where replies.outcome = 'refused') as refused,
        count(*) filter (where replies.outcome = 'unreadable') as unreadable,
        count(*) filter (where replies.outcome = 'error') as errors,
        any_value(plays.first_people / (plays.first_people + plays.second_people)) as expected_share
    from replies
    inner join intermediate.int_task_assignments as tasks using (run_id, cell_id, play_id, reply)
    inner join plays using (run_id, cell_id, play_id)
    group by all
),

tested as (
    select
        *,
        nullif(first_chosen + second_chosen, 0) as chosen,
        -- exact two-sided test: twice the probability of at least as many, or of at most as many
        2 * least(
            statistics.binomial_cdf(first_chosen, first_chosen + second_chosen, expected_share),
            statistics.binomial_cdf(second_chosen, first_chosen + second_chosen, 1 - expected_share)
        ) as tails
    from counted
),

valued as (
    select
        *,
        statistics.wilson_of_counts(first_chosen, chosen) as of_share,
        if(chosen is null, null, least(1::double, tails)) as p_value
    from tested
),

-- scenes, settings and stages of one player are one family of comparisons
adjusted as (
    from statistics.with_q_values('valued', p_value, (run_id, model))
)

select
    *,
    first_chosen / chosen as first_share,
    of_share.low as low,
    of_share.high as high
from adjusted
