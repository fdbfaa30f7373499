-- repeats of a prompt are averaged, and both orders of a shortlist
with units as (
    select
        run_id,
        cell_id,
        identity_group,
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
    group by run_id, cell_id, identity_group, document_id, pair
),

cells as (
    select distinct on (run_id, cell_id)
        run_id,
        cell_id,
        concern,
        axis,
        provider,
        model,
        language,
        design,
        signal,
        listed,
        reference,
        decision
    from intermediate.int_audit_decisions
),

-- cells of groups that are compared with each other
families as (
    select
        *,
        min(cell_id) over (partition by run_id, model, language, design, signal, listed) as family
    from cells
),

units_of_cells as (
    from units inner join families using (run_id, cell_id)
),

-- the reference is a group, or the mean of all
matched_units as (
    from units_of_cells where identity_group = reference
    union all by name
    select
        run_id,
        family,
        document_id,
        pair,
        'all groups' as identity,
        sum(repeats)::bigint as repeats,
        sum(unread)::bigint as unread,
        sum(errors)::bigint as errors,
        case when count(points) = count(*) then statistics.mean_of_shares(points) end as points
    from units_of_cells
    where reference = 'all'
    group by all
)

select
    compared.* exclude (cell_id, listed, family, errors),
    md5(concat_ws(
        chr(31), compared.model, compared.language, compared.design, compared.signal, compared.identity_group
    )) as comparison_id,
    matched.identity as reference_identity,
    matched.case_id as reference_case_id,
    matched.response_id as reference_response_id,
    matched.points as reference_points,
    compared.points - matched.points as difference,
    case
        when compared.errors + matched.errors = 0
            then 100 * (compared.unread / compared.repeats - matched.unread / matched.repeats)
    end as refusal_difference,
    matched.unread as reference_unread,
    compared.errors + matched.errors as errors,
    matched.repeats as reference_repeats
from units_of_cells as compared
inner join matched_units as matched using (run_id, family, document_id, pair)
where compared.identity_group <> compared.reference
