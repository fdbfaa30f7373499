-- of the ratio of two rates: the variance of its logarithm, linearised
with measured as (
    select run_id, comparison_id, 'decision' as measure, document_id, pair, difference as amount
    from intermediate.int_decision_pairs
    where difference is not null
    union all
    -- where nothing was refused there is nothing to report
    select run_id, comparison_id, 'refusal' as measure, document_id, pair, refusal_difference
    from intermediate.int_decision_pairs
    semi join (
        from intermediate.int_audit_comparisons where greatest(unread_share, reference_unread_share) > 0
    ) using (run_id, comparison_id)
    where refusal_difference is not null
    union all
    select
        run_id,
        comparison_id,
        'log ratio' as measure,
        document_id,
        pair,
        compared.points / rates.points - compared.reference_points / rates.reference_points as amount
    from intermediate.int_decision_pairs as compared
    inner join intermediate.int_audit_comparisons as rates using (run_id, comparison_id)
    where
        difference is not null
        and rates.decision <> 'score'
        and rates.points > 0
        and rates.reference_points > 0
    union all
    -- few selections, whose logarithm is far from normal: each rate by itself
    select
        run_id,
        comparison_id,
        unnest(['rate', 'reference rate']) as measure,
        document_id,
        pair,
        unnest([compared.points, compared.reference_points]) / 100 as amount
    from intermediate.int_decision_pairs as compared
    inner join intermediate.int_audit_comparisons as rates using (run_id, comparison_id)
    where
        difference is not null
        and rates.decision <> 'score'
        and (least(rates.points, rates.reference_points) * rates.pairs < 1000 - 1e-4 or rates.more + rates.less = 0)
)

from statistics.two_way_means(
    'measured', {'run_id': run_id, 'comparison_id': comparison_id, 'measure': measure}
)
