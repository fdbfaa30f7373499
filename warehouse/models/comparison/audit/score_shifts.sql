with decided as (
    from intermediate.int_decision_pairs where difference is not null
),

shifts as (
    from marts.score_shifts where measure = 'decision'
),

sides as (
    from statistics.sides('shifts', {
        'comparison_id': comparison_id, 'model': model, 'language': language, 'design': design, 'signal': signal,
        'identity_group': identity_group
    })
),

-- the same document with the same identities
changes as (
    select
        comparison_id,
        document_id,
        pair,
        later.difference as one,
        earlier.difference as other
    from (from decided where run_id = 'earlier') as earlier
    inner join (from decided where run_id = 'later') as later using (comparison_id, document_id, pair)
),

tested as (
    select
        * exclude (mean_one, mean_other),
        mean_one as later_shift,
        mean_other as earlier_shift,
        abs(earlier_shift) - abs(later_shift) as nearer_to_none
    from statistics.two_way_tests('changes', {'comparison_id': comparison_id}, 'all of them')
)

select
    *,
    coalesce(earlier.concern, later.concern) as concern,
    coalesce(earlier.axis, later.axis) as axis,
    coalesce(earlier.reference, later.reference) as reference,
    statistics.presence(earlier, later) as presence,
    earlier.finding as earlier_finding,
    later.finding as later_finding,
    statistics.change(nearer_to_none, q_value) as change,
    case
        when presence <> 'both' then 'asked in one run alone'
        when pairs is null then 'no pair was decided in both'
        when p_value is null then 'too few documents or identities'
    end as why_not_compared
from sides
left join tested using (comparison_id)
