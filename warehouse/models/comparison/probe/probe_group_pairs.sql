with of_tests as (
    select
        pair,
        model,
        language,
        test,
        earlier_finding as earlier_test_finding,
        later_finding as later_test_finding,
        earlier_worst_group,
        later_worst_group,
        why_not_compared as why_not_compared_there
    from comparison.probe_findings
),

-- of the trials that both runs have, in which every group was read; the same groups in both
changes as (
    select
        later.pair,
        later.model,
        later.language,
        later.test,
        later.block,
        later.group_id,
        later.place,
        earlier.value as earlier_value,
        later.value as later_value,
        later.value - earlier.value as value
    from (from intermediate.int_probe_groups where run_id = 'earlier') as earlier
    inner join (from intermediate.int_probe_groups where run_id = 'later') as later
        using (pair, model, language, test, block, group_id)
    semi join (from of_tests where why_not_compared_there = 'compared group by group') as same
        using (pair, model, language, test)
),

-- whether groups changed otherwise than others at all
over_all as (
    from statistics.group_tests(
        'changes', {'pair': pair, 'model': model, 'language': language, 'test': test}
    )
),

adjusted as (
    from statistics.with_q_values('over_all', p_value, 'all of them')
),

levelled as (
    select
        * exclude (p_value),
        0.05 * count(*) filter (where q_value <= 0.05) over () / nullif(count(q_value) over (), 0) as level
    from adjusted
),

counted as (
    select
        pair,
        model,
        language,
        test,
        list_sort([one.group_id, other.group_id]) as two,
        count(*) as trials,
        statistics.mean_of_shares(one.earlier_value - other.earlier_value) as earlier_gap,
        statistics.mean_of_shares(one.later_value - other.later_value) as later_gap,
        statistics.mean_of_shares(one.value - other.value) as difference,
        statistics.se_of_shares(one.value - other.value) as standard_error
    from changes as one
    inner join changes as other using (pair, model, language, test, block)
    where one.place < other.place
    group by pair, model, language, test, one.group_id, other.group_id
),

tested as (
    select
        *,
        statistics.bounded_interval(difference, standard_error, trials, -2, 2) as of_difference,
        statistics.paired_p_value(difference, standard_error, trials) as p_value,
        abs(earlier_gap) - abs(later_gap) as nearer_to_none
    from counted
),

by_holm as (
    from statistics.with_holm_values('tested', p_value, (pair, model, language, test))
),

-- files may list the groups in another order
found as (
    select
        *,
        list_sort([first_group, second_group]) as two,
        case finding
            when 'first more' then concat(first_group, ' more')
            when 'second more' then concat(second_group, ' more')
            else finding
        end as found
    from marts.probe_group_pairs
),

sides as (
    from statistics.sides(
        'found', {'pair': pair, 'model': model, 'language': language, 'test': test, 'two': two}
    )
)

select
    *,
    coalesce(earlier.concern, later.concern) as concern,
    coalesce(earlier.axis, later.axis) as axis,
    coalesce(later.first_group, earlier.first_group) as first_group,
    coalesce(later.second_group, earlier.second_group) as second_group,
    earlier.found as earlier_finding,
    later.found as later_finding,
    of_difference.low as low,
    of_difference.high as high,
    case
        when trials is null or blocks < 6 or (q_value is null and differing > 0) then 'not compared'
        when coalesce(q_value > 0.05, true) or p_adjusted > level or nearer_to_none = 0 then 'no difference shown'
        when nearer_to_none < 0 then 'worse'
        else 'better'
    end as change,
    case
        when change <> 'not compared' then null
        when why_not_compared_there = 'asked about other groups' then why_not_compared_there
        when trials is null then 'no trial was read in both'
        else 'too few trials'
    end as why_not_compared
from sides
inner join of_tests using (pair, model, language, test)
left join by_holm using (pair, model, language, test, two)
left join levelled using (pair, model, language, test)
where earlier is not null and later is not null
