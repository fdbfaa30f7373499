-- what the run's file states
with given as (
    select
        run_id,
        try_cast(try_cast(scenario_resolved as json) -> 'audit' ->> 'margin' as double) as margin,
        try_cast(try_cast(scenario_resolved as json) -> 'audit' ->> 'impact_ratio' as double) as least_ratio,
        coalesce(
            try_cast(try_cast(scenario_resolved as json) -> 'audit' ->> 'max_refusals' as double), 0.1
        ) as max_refusals,
        try_cast(try_cast(scenario_resolved as json) -> 'audit' -> 'decision' ->> 'low' as double) as low_score,
        try_cast(try_cast(scenario_resolved as json) -> 'audit' -> 'decision' ->> 'high' as double) as high_score
    from staging.stg_runs
    where kind = 'audit'
),

tested as (
    select
        groups.* exclude (pairs),
        variances.measure,
        coalesce(variances.pairs, 0) as pairs,
        coalesce(variances.documents, 0) as documents,
        coalesce(variances.identities, 0) as identities,
        variances.mean as difference,
        variances.standard_error,
        variances.se_by_document,
        variances.se_by_identity,
        variances.degrees,
        given.* exclude (run_id, low_score, high_score),
        -- what a share of documents would change that is rare enough for none of these to be of it
        decision = 'score' and variances.measure = 'decision' as is_score,
        if(is_score, coalesce(high_score - low_score, 100), 100) as widest,
        widest * (1 - 0.025 ** (1 / variances.documents)) as unseen_95,
        widest * (1 - 0.05 ** (1 / variances.documents)) as unseen_90,
        case
            when variances.measure = 'decision' and greatest(unread_share, reference_unread_share) > max_refusals
                then format(
                    '{:.0f}% of the decisions were refused or unreadable, more than {:.0f}%',
                    100 * greatest(unread_share, reference_unread_share), 100 * max_refusals
                )
            when coalesce(variances.documents, 0) < 6 then 'fewer than 6 documents were decided about'
            when variances.identities < 6 then 'fewer than 6 pairs of identities were decided about'
        end as not_evaluated_because
    from intermediate.int_audit_comparisons as groups
    left join given using (run_id)
    left join (
        from intermediate.int_pair_variances where measure in ('decision', 'refusal')
    ) as variances using (run_id, comparison_id)
),

intervals as (
    select
        *,
        coalesce(measure, 'decision') as measured,
        case
            when not_evaluated_because is null
                then statistics.paired_p_value(difference, standard_error, degrees + 1)
        end as p_value,
        -- where no pair differs there is no spread
        case
            when not_evaluated_because is not null then null
            when standard_error > 0 then statistics.t_quantile(0.975, degrees) * standard_error
            else unseen_95
        end as half_95,
        case
            when not_evaluated_because is not null then null
            when standard_error > 0 then statistics.t_quantile(0.95, degrees) * standard_error
            else unseen_90
        end as half_90,
        -- few documents can agree by chance: equality takes an interval no wider than the margin and, of selections, so
        -- many documents that a share of them as large as the margin would not be missed
        greatest(if(standard_error > 0, 2 * half_90, 0), if(is_score, 0, unseen_90)) <= margin as is_precise
    from tested
),

-- all groups, signals and measures of a model are one family of comparisons
adjusted as (
    from statistics.with_q_values('intervals', p_value, (run_id, model))
)

select
    * exclude (
        measure, measured, half_95, half_90, unseen_95, unseen_90, widest, is_score, is_precise, degrees, least_ratio,
        max_refusals
    ),
    measured as measure,
    degrees::bigint as degrees,
    difference - half_95 as low,
    difference + half_95 as high,
    difference - half_90 as low_90,
    difference + half_90 as high_90,
    case
        when not_evaluated_because is not null or q_value is null then 'not evaluated'
        when is_precise and low_90 > -margin and high_90 < margin then 'met'
        when q_value <= 0.05 then 'not met'
        else 'undecided'
    end as state,
    case
        when state = 'not evaluated' then 'not evaluated'
        when q_value <= 0.05 and difference < 0 then 'lower'
        when q_value <= 0.05 then 'higher'
        when state = 'met' then 'no more than the margin apart'
        when not is_precise then 'too few documents or identities to show equality'
        else 'no difference shown'
    end as finding,
    least_ratio,
    measured = 'refusal' or margin is not null or least_ratio is null as is_decisive
from adjusted
