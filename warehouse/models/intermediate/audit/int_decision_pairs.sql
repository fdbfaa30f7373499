-- repeats of a prompt are averaged, and both orders of a shortlist
with units as (
    select
        run_id,
        any_value(concern) as concern,
        any_value(axis) as axis,
        any_value(provider) as provider,
        model,
        language,
        design,
        signal,
        identity_group,
        listed,
        any_value(reference) as reference,
        any_value(decision) as decision,
        document_id,
        any_value(document) as document,
        pair,
        any_value(identity) as identity,
        min(case_id) as case_id,
        min(response_id) as response_id,
        count(*) as repeats,
        count(*) filter (where outcome in ('refused', 'unreadable')) as unread,
        count(*) filter (where outcome = 'error') as errors,
        statistics.mean_of_shares(points) as points
    from intermediate.int_audit_decisions
    group by run_id, model, language, design, signal, identity_group, listed, document_id, pair
),

-- the reference is a group, or the mean of all
matched_units as (
    select
        run_id,
        model,
        language,
        design,
        signal,
        listed,
        document_id,
        pair,
        identity,
        case_id,
        response_id,
        repeats,
        unread,
        errors,
        points
    from units
    where identity_group = reference
    union all
    select
        run_id,
        model,
        language,
        design,
        signal,
        listed,
        document_id,
        pair,
        'all groups' as identity,
        null as case_id,
        null as response_id,
        sum(repeats)::bigint as repeats,
        sum(unread)::bigint as unread,
        sum(errors)::bigint as errors,
        if(count(points) = count(*), statistics.mean_of_shares(points), null) as points
    from units
    where reference = 'all'
    group by run_id, model, language, design, signal, listed, document_id, pair
)

select
    compared.run_id,
    md5(concat_ws(
        chr(31), compared.model, compared.language, compared.design, compared.signal, compared.identity_group
    )) as comparison_id,
    compared.concern,
    compared.axis,
    compared.provider,
    compared.model,
    compared.language,
    compared.design,
    compared.signal,
    compared.identity_group,
    compared.reference,
    compared.decision,
    compared.document_id,
    compared.document,
    compared.pair,
    compared.identity,
    matched.identity as reference_identity,
    compared.case_id,
    matched.case_id as reference_case_id,
    compared.response_id,
    matched.response_id as reference_response_id,
    compared.points,
    matched.points as reference_points,
    compared.points - matched.points as difference,
    case
        when compared.errors + matched.errors = 0
            then 100 * (compared.unread / compared.repeats - matched.unread / matched.repeats)
    end as refusal_difference,
    compared.unread,
    matched.unread as reference_unread,
    compared.errors + matched.errors as errors,
    compared.repeats,
    matched.repeats as reference_repeats
from units as compared
inner join matched_units as matched using (run_id, model, language, design, signal, listed, document_id, pair)
where compared.identity_group <> compared.reference
