with placed as (
    select
        *,
        place <= max(place) over (partition by run_id, cell_id, case_id) / 2 as is_early
    from intermediate.int_audit_decisions
    where decision = 'choice'
),

-- the same document with the same identity in the earlier half of shortlists and in the later one
halves as (
    select
        run_id,
        model,
        language,
        design,
        signal,
        document_id,
        pair,
        statistics.mean_of_shares(if(is_early, points, null)) as one,
        statistics.mean_of_shares(if(not is_early, points, null)) as other
    from placed
    group by run_id, model, language, design, signal, document_id, pair, identity_group, listed
),

compared as (
    from halves where one is not null and other is not null
),

tested as (
    from statistics.two_way_tests(
        'compared',
        {'run_id': run_id, 'model': model, 'language': language, 'design': design, 'signal': signal},
        (run_id, model),
        fewest := 6
    )
)

select
    * exclude (mean_one, mean_other, degrees, se_by_document, se_by_identity),
    mean_one / 100 as early_rate,
    mean_other / 100 as late_rate,
    case
        when q_value is null then 'not evaluated'
        when q_value > 0.05 then 'no difference shown'
        when difference > 0 then 'earlier places preferred'
        else 'later places preferred'
    end as finding
from tested
