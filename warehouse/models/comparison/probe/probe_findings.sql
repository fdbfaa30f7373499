-- of three groups or more all are compared, in probe_group_pairs
with trials as (
    select * from intermediate.int_probe_trials where score is not null and groups is null
),

asked as (
    select
        pair,
        model,
        language,
        test,
        any_value(array_to_string(groups, ', ')) filter (where run_id = 'earlier') as earlier_groups,
        any_value(array_to_string(groups, ', ')) filter (where run_id = 'later') as later_groups,
        count(distinct coalesce(list_sort(groups), [])) > 1 as has_other_groups
    from intermediate.int_probe_trials
    group by pair, model, language, test
),

-- the same block of prompts of a pair, or as many others if another seed selected them
changes as (
    from statistics.paired_changes(
        'marts.probe_findings',
        'trials',
        {'pair': pair, 'model': model, 'language': language, 'test': test},
        block,
        score,
        2,
        'all of them'
    )
)

select
    changes.* exclude (earlier_score, later_score, earlier_groups, later_groups),
    asked.* exclude (pair, model, language, test),
    coalesce(earlier_concern, later_concern) as concern,
    coalesce(earlier_axis, later_axis) as axis,
    units as trials,
    earlier_mean as earlier_score,
    later_mean as later_score,
    statistics.change(nearer, q_value) as change,
    case
        when presence <> 'both' then 'asked in one run alone'
        when has_other_groups then 'asked about other groups'
        when later_groups is not null then 'compared group by group'
        when units is null then 'no trial was read in both'
        when p_value is null then 'too few trials'
    end as why_not_compared
from changes
inner join asked using (pair, model, language, test)
