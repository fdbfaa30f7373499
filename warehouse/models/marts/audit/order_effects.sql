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
        identity_group,
        listed,
        statistics.mean_of_shares(if(is_early, points, null)) as early_points,
        statistics.mean_of_shares(if(not is_early, points, null)) as late_points,
        early_points - late_points as amount
    from placed
    group by run_id, model, language, design, signal, document_id, pair, identity_group, listed
),

compared as (
    from halves where amount is not null
),

rates as (
    select
        run_id,
        model,
        language,
        design,
        signal,
        statistics.mean_of_shares(early_points) / 100 as early_rate,
        statistics.mean_of_shares(late_points) / 100 as late_rate
    from compared
    group by all
),

means as (
    from statistics.two_way_means('compared', {
        'run_id': run_id, 'model': model, 'language': language, 'design': design, 'signal': signal
    })
),

tested as (
    select
        *,
        mean as difference,
        statistics.t_quantile(0.975, degrees) * standard_error as half,
        case
            when least(documents, identities) >= 6 then statistics.paired_p_value(mean, standard_error, degrees + 1)
        end as p_value
    from means
    inner join rates using (run_id, model, language, design, signal)
),

adjusted as (
    from statistics.with_q_values('tested', p_value, (run_id, model))
)

select
    * exclude (mean, half, degrees, se_by_document, se_by_identity),
    difference - half as low,
    difference + half as high,
    case
        when q_value is null then 'not evaluated'
        when q_value > 0.05 then 'no difference shown'
        when difference > 0 then 'earlier places preferred'
        else 'later places preferred'
    end as finding
from adjusted
