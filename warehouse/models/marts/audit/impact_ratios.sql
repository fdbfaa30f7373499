with ratios as (
    select
        groups.* exclude (
            decision, planned, errors, more, less, points, reference_points, unread_share, reference_unread_share
        ),
        groups.points * groups.pairs / 100 as selected,
        groups.reference_points * groups.pairs / 100 as reference_selected,
        groups.points / 100 as selection_rate,
        groups.reference_points / 100 as reference_rate,
        shifts.not_evaluated_because,
        shifts.least_ratio,
        -- without a margin, a difference that is shown fails unless its ratio is met
        shifts.margin is null and shifts.finding in ('lower', 'higher') as is_different,
        if(reference_rate > 0, selection_rate / reference_rate, null) as impact_ratio,
        variances.standard_error as se_log,
        variances.se_by_document as se_log_by_document,
        -- below ten the logarithm of a rate is far from normal
        round(least(selected, reference_selected), 6) >= 10 and se_log > 0 as has_interval,
        statistics.t_quantile(0.975, variances.degrees) * se_log as half,
        statistics.ratio_interval(
            selection_rate,
            statistics.interval(selection_rate, own.standard_error, own.documents, own.pairs),
            reference_rate,
            statistics.interval(reference_rate, base.standard_error, base.documents, base.pairs)
        ) as by_rates
    from intermediate.int_audit_comparisons as groups
    inner join marts.score_shifts as shifts using (run_id, comparison_id)
    left join (
        from intermediate.int_pair_variances where measure = 'log ratio'
    ) as variances using (run_id, comparison_id)
    left join (from intermediate.int_pair_variances where measure = 'rate') as own using (run_id, comparison_id)
    left join (
        from intermediate.int_pair_variances where measure = 'reference rate'
    ) as base using (run_id, comparison_id)
    where shifts.measure = 'decision' and groups.decision <> 'score' and groups.pairs > 0
)

select
    * exclude (has_interval, half, by_rates, is_different, not_evaluated_because),
    if(coalesce(has_interval, false), impact_ratio * exp(-half), by_rates.low) as low,
    if(coalesce(has_interval, false), impact_ratio * exp(half), by_rates.high) as high,
    impact_ratio between 0.8 and 1.25 as is_four_fifths,
    case
        when not_evaluated_because is not null then not_evaluated_because
        when low is null then 'no selection of the reference'
    end as no_interval_because,
    case
        when not_evaluated_because is not null then 'not evaluated'
        when low >= least_ratio and high <= 1 / least_ratio then 'met'
        when high < least_ratio or low > 1 / least_ratio or (is_different and least_ratio is not null) then 'not met'
        else 'undecided'
    end as state
from ratios
