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
    *,
    coalesce(earlier.concern, later.concern) as concern,
    coalesce(earlier.axis, later.axis) as axis,
    statistics.presence(earlier, later) as presence,
    earlier.trials as earlier_trials,
    later.trials as later_trials,
    earlier.compared as earlier_compared,
    later.compared as later_compared,
    earlier.stereotypical_share as earlier_stereotypical_share,
    later.stereotypical_share as later_stereotypical_share,
    earlier.finding as earlier_finding,
    later.finding as later_finding,
    earlier.worst_group as earlier_worst_group,
    later.worst_group as later_worst_group,
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
