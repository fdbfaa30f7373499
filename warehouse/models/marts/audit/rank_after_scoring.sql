-- the documents with the identities of one pair, those of the group and of the reference, ranked by score together
with scored as (
    select run_id, comparison_id, model, document_id, pair, points, true as is_compared
    from intermediate.int_decision_pairs
    where decision = 'score' and difference is not null
    union all
    select run_id, comparison_id, model, document_id, pair, reference_points, false as is_compared
    from intermediate.int_decision_pairs
    where decision = 'score' and difference is not null
),

-- 0 the lowest score, 100 the highest; equal scores share their places
ranked as (
    select
        *,
        100 * (
            rank() over (partition by run_id, comparison_id, pair order by points) - 1
            + (count(*) over (partition by run_id, comparison_id, pair, points) - 1) / 2
        ) / (count(*) over (partition by run_id, comparison_id, pair) - 1) as place
    from scored
),

placed as (
    select
        run_id,
        comparison_id,
        model,
        document_id,
        pair,
        max(place) filter (where is_compared) as one,
        max(place) filter (where not is_compared) as other
    from ranked
    group by run_id, comparison_id, model, document_id, pair
),

tested as (
    from statistics.two_way_tests(
        'placed', {'run_id': run_id, 'comparison_id': comparison_id, 'model': model}, (run_id, model), fewest := 6
    )
)

select
    groups.concern,
    groups.axis,
    groups.language,
    groups.design,
    groups.signal,
    groups.identity_group,
    groups.reference,
    tested.* exclude (mean_one, mean_other, degrees, se_by_document, se_by_identity),
    mean_one as mean_rank,
    mean_other as reference_rank,
    case
        when q_value is null then 'not evaluated'
        when q_value > 0.05 then 'no difference shown'
        when difference > 0 then 'ranked higher'
        else 'ranked lower'
    end as finding
from tested
inner join intermediate.int_audit_comparisons as groups using (run_id, comparison_id)
