with decided as (
    from intermediate.int_decision_pairs where difference is not null
),

shifts as (
    from marts.score_shifts where measure = 'decision'
),

sides as (
    from statistics.sides('shifts', {
        'model': model, 'language': language, 'design': design, 'signal': signal, 'identity_group': identity_group
    })
),

-- the same document with the same identities
changes as (
    select
        model,
        language,
        design,
        signal,
        identity_group,
        document_id,
        pair,
        earlier.difference as earlier_difference,
        later.difference as later_difference,
        later.difference - earlier.difference as amount
    from (from decided where run_id = 'earlier') as earlier
    inner join (from decided where run_id = 'later') as later
        using (model, language, design, signal, identity_group, document_id, pair)
),

levels as (
    select
        model,
        language,
        design,
        signal,
        identity_group,
        statistics.mean_of_shares(earlier_difference) as earlier_shift,
        statistics.mean_of_shares(later_difference) as later_shift
    from changes
    group by all
),

means as (
    from statistics.two_way_means('changes', {
        'model': model, 'language': language, 'design': design, 'signal': signal, 'identity_group': identity_group
    })
),

tested as (
    select
        *,
        mean as difference,
        statistics.t_quantile(0.975, degrees) * standard_error as half,
        statistics.paired_p_value(mean, standard_error, degrees + 1) as p_value,
        abs(earlier_shift) - abs(later_shift) as nearer_to_none
    from means
    inner join levels using (model, language, design, signal, identity_group)
),

adjusted as (
    from statistics.with_q_values('tested', p_value, 'all of them')
)

select
    *,
    coalesce(earlier.concern, later.concern) as concern,
    coalesce(earlier.axis, later.axis) as axis,
    coalesce(earlier.reference, later.reference) as reference,
    statistics.presence(earlier, later) as presence,
    earlier.finding as earlier_finding,
    later.finding as later_finding,
    difference - half as low,
    difference + half as high,
    case
        when nearer_to_none = 0 and q_value is not null then 'no difference shown'
        else coalesce(statistics.change(nearer_to_none, q_value), 'not compared')
    end as change,
    case
        when presence <> 'both' then 'asked in one run alone'
        when pairs is null then 'no pair was decided in both'
        when p_value is null then 'too few documents or identities'
    end as why_not_compared
from sides
left join adjusted using (model, language, design, signal, identity_group)
